// The service, through its public interface like any client.

import { ROOT } from '../docs/shared/dom.js';
import { storedKey } from '../docs/shared/key.js';

import { objectsOf, parseExactly } from './json.js';

/** The address of the animals. */
export const PETS = `${ROOT}v1/pets`;

/** The most animals on a page. */
export const MAX_LIMIT = 100;

/** Milliseconds until a request is given up: longer than the service lets one take. */
const TIMEOUT = 40_000;

/** An answer of the service that is an error. */
export class Refusal extends Error {
  constructor(response, body) {
    const known = body !== null && typeof body === 'object' && typeof body.message === 'string';
    super(known ? body.message : `the answer is ${response.status} ${response.statusText}`.trim());
    this.status = response.status;
    this.code = known ? body.code : '';
    this.requestId = response.headers.get('X-Request-Id');
    this.retryAfter = response.headers.get('Retry-After');
  }
}

/** No answer came, or none that this interface has. */
export class Unreachable extends Error {}

/** Whether the service refused the API key itself. */
export const isKeyRefused = (failure) => failure instanceof Refusal && failure.status === 401;

/**
 * Sends one request: the answer's headers, its text and what it means. Throws `Refusal`,
 * `Unreachable` or the reason of the abort.
 */
export async function call(reference, { signal, headers = {}, ...options } = {}) {
  const timeout = AbortSignal.timeout(TIMEOUT);
  let response, text;
  try {
    response = await fetch(reference, {
      ...options,
      headers: { ...headers, Authorization: `Bearer ${storedKey()}` },
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    text = await response.text();
  } catch {
    signal?.throwIfAborted();
    throw new Unreachable('The service did not answer. Is it running, and is the network up?');
  }
  signal?.throwIfAborted();
  let body = null;
  try {
    body = parseExactly(text);
  } catch {
    if (response.ok) throw new Unreachable('The answer is not JSON. Is something between this page and the service?');
  }
  if (!response.ok) throw new Refusal(response, body);
  return { headers: response.headers, text, body };
}

/** One animal, with its JSON as it came. */
export async function get(id, options) {
  const { text, body } = await call(`${PETS}/${id}`, options);
  return { ...body, json: text };
}

/** A page of animals as it came, each with its JSON, and the reference to the next page if there is one. */
export async function list(reference, options) {
  const { headers, text, body } = await call(reference, options);
  const objects = objectsOf(text);
  const pets = body.map((pet, index) => ({ ...pet, json: objects[index] }));
  const link = /<([^>]*)>\s*;\s*rel="?next"?/.exec(headers.get('Link') ?? '')?.[1];
  if (link === undefined) return { pets, text, next: null };
  const next = new URL(link, location.origin);
  // The key goes to no other host, whatever the header says.
  if (next.origin !== location.origin) throw new Unreachable(`The link to the next page leads to ${next.origin}.`);
  return { pets, text, next: next.pathname + next.search };
}

/**
 * Reads pages of the list, at most `max` of them, and hands each to `take`, until there is none or
 * `take` returns true. The reference that follows the last one read, or `null` at the end.
 */
export async function walk(reference, max, options, take) {
  let next = reference;
  for (let pages = 0; next !== null && pages < max; pages += 1) {
    const page = await list(next, options);
    if (take(page, next)) return page.next;
    next = page.next;
  }
  return next;
}

/** A failure in words. */
export function explain(failure) {
  if (!(failure instanceof Refusal)) return failure.message;
  const wait = failure.retryAfter ? ` Try again in ${failure.retryAfter} s.` : '';
  const id = failure.requestId ? ` (request ${failure.requestId})` : '';
  return `The service refused: ${failure.message}.${wait}${failure.status >= 500 ? id : ''}`;
}
