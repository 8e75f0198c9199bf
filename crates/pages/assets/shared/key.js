// The API key of both pages: where it is kept, and whether the service takes it.

import { ROOT } from './dom.js';

const ITEM = 'petstore.key';
/** Milliseconds until a check is given up: longer than the service lets a request take. */
const TIMEOUT = 40_000;

/** The storage of this tab; where the browser forbids it, the key lasts as long as the page. */
const storage = (() => {
  try {
    sessionStorage.getItem(ITEM);
    return sessionStorage;
  } catch {
    const items = new Map();
    return {
      getItem: (name) => items.get(name) ?? null,
      setItem: (name, value) => items.set(name, value),
      removeItem: (name) => items.delete(name),
    };
  }
})();

/** The key that was entered in this tab, or an empty text. */
export const storedKey = () => storage.getItem(ITEM) ?? '';

/** Keeps `key` until the tab is closed or the key is forgotten. */
export const storeKey = (key) => storage.setItem(ITEM, key);

/** Removes the key from this tab. */
export const forgetKey = () => storage.removeItem(ITEM);

/** Why `key` cannot be one, or an empty text. Asks nobody. */
export function faultOfKey(key) {
  if (key === '') return 'Enter an API key.';
  if (!/^[\x21-\x7e]+$/.test(key)) return 'An API key has no spaces and no characters beyond ASCII.';
  return '';
}

/** Asks the service for one animal with `key`: why the key cannot be used, or an empty text. */
export async function verifyKey(key) {
  const fault = faultOfKey(key);
  if (fault) return fault;
  let response;
  try {
    response = await fetch(`${ROOT}v1/pets?limit=1`, {
      headers: { Authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(TIMEOUT),
    });
  } catch {
    return 'The server could not be reached, so the key was not checked.';
  }
  if (response.ok) return '';
  const message = await messageOf(response);
  return response.status === 401
    ? `The service refused this key: ${message}.`
    : `The key could not be checked: ${message}.`;
}

/** What an error of the service says, or else its status. */
async function messageOf(response) {
  try {
    const { message } = await response.json();
    if (typeof message === 'string') return message;
  } catch {
    // Not an answer of the service: the status has to do.
  }
  return `the answer is ${response.status} ${response.statusText}`.trim();
}
