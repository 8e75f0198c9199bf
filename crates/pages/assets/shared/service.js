// Requests to the service, through its public interface.

import { storedKey } from './stored.js';

/** The timeout of a request in milliseconds, longer than the request timeout of the service. */
const TIMEOUT = 40_000;

/** The error of a request without an answer of the service. The message is shown to the user of the page. */
export class Unreachable extends Error {}

/** An error that the service, or a proxy in front of it, has answered. */
export class Refusal extends Error {
  constructor({ status, statusText, headers }, text) {
    let body = null;
    try {
      body = JSON.parse(text);
    } catch {
      // A proxy has answered, so only the status is known.
    }
    super(typeof body?.message === 'string' ? body.message : `the answer is ${status} ${statusText}`.trim());
    this.status = status;
    this.code = body?.code ?? '';
    this.requestId = headers.get('X-Request-Id');
    this.retryAfter = headers.get('Retry-After');
  }
}

/** Sends a request. Returns the response and its text. Throws `Unreachable` or the reason of the abort. */
export async function send(target, { signal, headers = {}, key = storedKey(), ...options } = {}) {
  const timeout = AbortSignal.timeout(TIMEOUT);
  const all = key ? { ...headers, Authorization: `Bearer ${key}` } : headers;
  try {
    const response = await fetch(target, { ...options, headers: all, signal: signal ? AbortSignal.any([signal, timeout]) : timeout });
    const text = await response.text();
    signal?.throwIfAborted();
    return { response, text };
  } catch {
    signal?.throwIfAborted();
    throw new Unreachable('The service did not answer. Is it running, and is the network up?');
  }
}

/** Sends a request that must succeed. Returns the headers and the text. Also throws `Refusal`. */
export async function call(target, options) {
  const { response, text } = await send(target, options);
  if (!response.ok) throw new Refusal(response, text);
  return { headers: response.headers, text };
}

/**
 * Returns the query of the next page, or `null`. Ignores the path of the link: behind a proxy, its prefix may differ
 * from the prefix that the page was opened with, so callers use their own path.
 */
export const nextQuery = (headers) => /<[^>?]*(\?[^>]*)>\s*;\s*rel="?next"?/.exec(headers.get('Link') ?? '')?.[1] ?? null;

/** Returns the text of a failure. */
export function explain(failure) {
  if (!(failure instanceof Refusal)) return failure.message;
  const wait = failure.retryAfter ? ` Try again in ${failure.retryAfter} s.` : '';
  const id = failure.requestId ? ` (request ${failure.requestId})` : '';
  // Removes the hint about `Retry-After`, which is for programs.
  const message = failure.message.replace(/; try again after .*/, '');
  return `The service refused: ${message}.${wait}${failure.status >= 500 ? id : ''}`;
}
