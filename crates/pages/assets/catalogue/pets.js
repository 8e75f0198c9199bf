// Requests for animals through the public interface, and texts about animals.

import { make, ROOT } from '../shared/dom.js';
import { parse } from '../shared/json.js';
import { call, nextQuery, Unreachable } from '../shared/service.js';

/** The path of the animals. */
export const PETS = `${ROOT}v1/pets`;

/** The largest number of animals on a page of the interface. */
export const MAX_LIMIT = 100;

/** The largest number of pages that one press of a button reads. */
export const MAX_PAGES = 50;

/** All statuses. */
export const STATUSES = ['available', 'pending', 'sold'];

const LABELS = { available: 'Available', pending: 'Pending', sold: 'Sold', none: 'No status' };

/** Returns the status of an animal, or `none`. */
export const statusOf = (pet) => (STATUSES.includes(pet.status) ? pet.status : 'none');

/** Returns the text of a status or of `none`. */
export const labelOf = (status) => LABELS[status];

/** Returns the badge of an animal's status. */
export const pill = (pet) => make('span', { class: `pill ${statusOf(pet)}` }, labelOf(statusOf(pet)));

/** Returns an animal in words, without its name: "id 4, category 7, sold". */
export function detailsOf(pet) {
  const status = pet.status ? `, ${labelOf(statusOf(pet)).toLowerCase()}` : '';
  return `id ${pet.id}, category ${pet.categoryId}${status}`;
}

/** Returns a number with separators of thousands. */
export const format = new Intl.NumberFormat('en').format;

/** Returns "1 animal", "2 animals" and so on. */
export const animals = (count) => `${format(count)} ${count === 1 ? 'animal' : 'animals'}`;

/** Returns the time of day. */
export const timeOfDay = (date = new Date()) => date.toLocaleTimeString('en-GB');

/** Returns whether `text` is a whole number in plain digits. */
export const isWhole = (text) => /^-?(0|[1-9]\d*)$/.test(text);

/** Returns whether `id` <= `other`, two strings of digits. */
export const isAtMost = (id, other) => BigInt(id) <= BigInt(other);

/** Returns the JSON of a new animal. The category keeps its digits. */
export function bodyOf({ name, categoryId, status }) {
  const members = [`"name":${JSON.stringify(name)}`, `"categoryId":${categoryId}`];
  if (status) members.push(`"status":${JSON.stringify(status)}`);
  return `{${members.join(',')}}`;
}

/** Parses JSON with numbers as strings of digits, because a JavaScript number cannot hold an int64. */
function parseExactly(text) {
  try {
    return parse(text, () => true);
  } catch {
    throw new Unreachable('The answer is not JSON. Is something between this page and the service?');
  }
}

/** Sends a request for one animal. Returns the animal, the JSON of the answer, and the headers. */
export async function askForPet(reference, options) {
  const { headers, text } = await call(reference, options);
  return { pet: { ...parseExactly(text), json: text }, headers };
}

/** Requests a page. Returns its animals, each with its JSON, and the reference to the next page if there is one. */
export async function list(reference, options) {
  const { headers, text } = await call(reference, options);
  // An animal contains no object, so it ends at the first brace outside of a string.
  const objects = text.match(/\{(?:"(?:[^"\\]|\\.)*"|[^"}])*\}/g) ?? [];
  const pets = parseExactly(text).map((pet, index) => ({ ...pet, json: objects[index] }));
  const next = nextQuery(headers);
  return { pets, text, next: next && PETS + next };
}

/** The number of attempts of a walk for one page, and the longest wait between two of them in seconds. */
const [MAX_TRIES, MAX_WAIT] = [20, 30];

/** Requests a page of animals. After a temporary refusal, waits for `Retry-After` and tries again. */
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
 * Reads at most `max` pages of the list, and passes each to `take` until `take` returns `true`. Returns the reference
 * of the next page, or `null` at the end.
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
