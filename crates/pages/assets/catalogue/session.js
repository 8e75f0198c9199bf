// The key of this tab coming and going. Whoever shows what a key gave access to listens here, so
// that nothing of it stays on the page.

import { forgetKey } from '../docs/shared/key.js';

import { isKeyRefused } from './api.js';

const listeners = [];

/**
 * Runs `listener` when the key goes. It is handed why: an empty text if the reader forgot the key on
 * purpose, else the words of the service.
 */
export function onKeyGone(listener) {
  listeners.push(listener);
}

/** Forgets the key and all that it gave access to. */
export function leave(reason = '') {
  forgetKey();
  for (const listener of listeners) listener(reason);
}

/** Whether `failure` was the key's fault: then the key is forgotten. */
export function leaveIfRefused(failure) {
  const refused = isKeyRefused(failure);
  if (refused) leave(`The service no longer takes the key: ${failure.message}.`);
  return refused;
}
