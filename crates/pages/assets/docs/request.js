// A request: made from the fields of a form, and sent.

import { ROOT } from './shared/dom.js';

/** What every path of the document is relative to. */
export const BASE = `${ROOT}v1`;
/** Milliseconds until a request is given up: longer than the service lets one take. */
const TIMEOUT = 40_000;

/** No answer came. Its message is for the reader. */
export class Unreachable extends Error {}

/**
 * The request that an operation makes of `values`, a map from the name of a parameter to its text.
 * Empty texts are not sent. `body` is JSON as it was typed.
 */
export function requestOf(operation, values, body) {
  const query = new URLSearchParams();
  const headers = [];
  let path = operation.path;
  for (const { name, in: place } of operation.parameters) {
    const value = values.get(name) ?? '';
    if (value === '') continue;
    if (place === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value));
    if (place === 'query') query.append(name, value);
    if (place === 'header') headers.push([name, value]);
  }
  if (body !== undefined) headers.push(['Content-Type', 'application/json']);
  const target = query.size > 0 ? `${BASE}${path}?${query}` : `${BASE}${path}`;
  return { method: operation.method, target, headers, body };
}

/** Sends a request, with `key` unless it is empty: the answer. Throws `Unreachable`. */
export async function send({ method, target, headers, body }, key) {
  const all = new Headers(headers);
  if (key) all.set('Authorization', `Bearer ${key}`);
  const begun = performance.now();
  try {
    // The reader wants the service's own answer, not one of the browser's cache.
    const options = { method, headers: all, body, cache: 'no-store', signal: AbortSignal.timeout(TIMEOUT) };
    const response = await fetch(target, options);
    const text = await response.text();
    const { status, statusText } = response;
    const time = Math.round(performance.now() - begun);
    return { status, statusText, time, text, headers: response.headers };
  } catch (error) {
    const late = error.name === 'TimeoutError';
    throw new Unreachable(late
      ? `The server did not answer within ${TIMEOUT / 1000} seconds.`
      : 'The server could not be reached. Is it running, and is the network up?');
  }
}
