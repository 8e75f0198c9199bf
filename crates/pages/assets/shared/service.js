// The service, through its public interface like any client.

import { storedKey } from './stored.js';

/** Milliseconds until a request is given up: longer than the service lets one take. */
const TIMEOUT = 40_000;

/** No answer came, or none that this interface has. Its message is for the reader. */
export class Unreachable extends Error {}

/** An answer of the service that is an error. */
export class Refusal extends Error {
  constructor({ status, statusText, headers }, text) {
    let body = null;
    try {
      body = JSON.parse(text);
    } catch {
      // Not an answer of the service: the status has to do.
    }
    super(typeof body?.message === 'string' ? body.message : `the answer is ${status} ${statusText}`.trim());
    this.status = status;
    this.code = body?.code ?? '';
    this.requestId = headers.get('X-Request-Id');
    this.retryAfter = headers.get('Retry-After');
  }
}

/** Sends a request: the response and its text. Throws `Unreachable` or the reason of the abort. */
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

/** Sends a request that must succeed: the answer's headers and text. Throws `Refusal` too. */
export async function call(target, options) {
  const { response, text } = await send(target, options);
  if (!response.ok) throw new Refusal(response, text);
  return { headers: response.headers, text };
}

/** The query of the next page, or `null` on the last one. Where the service is, the page knows better than the link. */
export const nextQuery = (headers) => /<[^>?]*(\?[^>]*)>\s*;\s*rel="?next"?/.exec(headers.get('Link') ?? '')?.[1] ?? null;

/** A failure in words. */
export function explain(failure) {
  if (!(failure instanceof Refusal)) return failure.message;
  const wait = failure.retryAfter ? ` Try again in ${failure.retryAfter} s.` : '';
  const id = failure.requestId ? ` (request ${failure.requestId})` : '';
  // The header is for programs.
  const message = failure.message.replace(/; try again after .*/, '');
  return `The service refused: ${message}.${wait}${failure.status >= 500 ? id : ''}`;
}
