// The animals, as the public interface has them and as the page writes them.

import { make, ROOT } from '../shared/dom.js';
import { parse } from '../shared/json.js';
import { call, nextQuery, Unreachable } from '../shared/service.js';

/** The address of the animals. */
export const PETS = `${ROOT}v1/pets`;

/** The most animals on a page of the interface. */
export const MAX_LIMIT = 100;

/** Pages of the interface that one press reads at most. */
export const MAX_PAGES = 50;

/** The statuses of the interface. */
export const STATUSES = ['available', 'pending', 'sold'];

const LABELS = { available: 'Available', pending: 'Pending', sold: 'Sold', none: 'No status' };

/** The status of an animal, or `none`. */
export const statusOf = (pet) => (STATUSES.includes(pet.status) ? pet.status : 'none');

/** What a status, or `none`, is called. */
export const labelOf = (status) => LABELS[status];

/** A status with its colour. */
export const pill = (pet) => make('span', { class: `pill ${statusOf(pet)}` }, labelOf(statusOf(pet)));

/** An animal in words, without its name: "id 4, category 7, sold". */
export function detailsOf(pet) {
  const status = pet.status ? `, ${labelOf(statusOf(pet)).toLowerCase()}` : '';
  return `id ${pet.id}, category ${pet.categoryId}${status}`;
}

/** A number with its thousands apart. */
export const format = new Intl.NumberFormat('en').format;

/** "1 animal", "2 animals". */
export const animals = (count) => `${format(count)} ${count === 1 ? 'animal' : 'animals'}`;

/** The time of day. */
export const timeOfDay = (date = new Date()) => date.toLocaleTimeString('en-GB');

/** Whether `text` is a whole number in plain digits. */
export const isWhole = (text) => /^-?(0|[1-9]\d*)$/.test(text);

/** Whether `id` and `other`, strings of digits, stand in this order or are equal. */
export const isAtMost = (id, other) => BigInt(id) <= BigInt(other);

/** A new animal as JSON, in which the category keeps its digits. */
export function bodyOf({ name, categoryId, status }) {
  const members = [`"name":${JSON.stringify(name)}`, `"categoryId":${categoryId}`];
  if (status) members.push(`"status":${JSON.stringify(status)}`);
  return `{${members.join(',')}}`;
}

/** JSON whose numbers are strings of digits: an int64 does not fit into a number of JavaScript. */
function parseExactly(text) {
  try {
    return parse(text, () => true);
  } catch {
    throw new Unreachable('The answer is not JSON. Is something between this page and the service?');
  }
}

/** Sends a request whose answer is one animal: that, with its JSON as it came, and the headers. */
export async function askForPet(reference, options) {
  const { headers, text } = await call(reference, options);
  return { pet: { ...parseExactly(text), json: text }, headers };
}

/** A page of animals as it came, each with its JSON, and the reference to the next page if there is one. */
export async function list(reference, options) {
  const { headers, text } = await call(reference, options);
  // An animal has no object in it.
  const objects = text.match(/\{(?:"(?:[^"\\]|\\.)*"|[^"}])*\}/g) ?? [];
  const pets = parseExactly(text).map((pet, index) => ({ ...pet, json: objects[index] }));
  const next = nextQuery(headers);
  return { pets, text, next: next && PETS + next };
}

/** How often a walk asks for one page, and the most seconds that it waits before it asks again. */
const [MAX_TRIES, MAX_WAIT] = [20, 30];

/** A page of animals. If the service refuses it for now, the page waits as long as the service asks for, and tries again. */
async function listInTime(reference, options) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await list(reference, options);
    } catch (failure) {
      if (!(failure.retryAfter > 0 && failure.retryAfter <= MAX_WAIT) || tries === MAX_TRIES) throw failure;
      await new Promise((done, stop) => {
        setTimeout(done, 1000 * failure.retryAfter);
        options.signal?.addEventListener('abort', () => stop(options.signal.reason));
      });
    }
  }
}

/**
 * Reads pages of the list, at most `max` of them, and hands each to `take`, until there is none or
 * `take` returns true. The reference that follows the last one read, or `null` at the end.
 */
export async function walk(reference, max, options, take) {
  let next = reference;
  for (let pages = 0; next !== null && pages < max; pages += 1) {
    const page = await listInTime(next, options);
    if (take(page, next)) return page.next;
    next = page.next;
  }
  return next;
}
