// The form that takes the API key of this tab, and the button that forgets the key.

import { $, busy, isEnabled, onPress, onSubmit, ROOT, showFault } from './dom.js';
import { call, explain, Refusal } from './service.js';
import { faultOfKey, isReadOnly, storedKey, storeKey } from './stored.js';

const listeners = [];

/**
 * Runs `listener` when the key is forgotten, to remove the data that was read with the key. The argument is the reason,
 * or an empty text if the user has pressed “Forget key”.
 */
export function onKeyGone(listener) {
  listeners.push(listener);
}

/** Returns whether the service refused the API key itself. */
export const isKeyRefused = (failure) => failure instanceof Refusal && failure.status === 401;

/** Forgets the key if `failure` is a refusal of the key, and returns whether it is. */
export function leaveIfRefused(failure) {
  const refused = isKeyRefused(failure);
  if (refused) leave('This key is no longer accepted: it was revoked, or has expired.');
  return refused;
}

/** Forgets the key and all data that was read with the key. */
function leave(reason = '') {
  storeKey('');
  showState();
  showKeyFault(reason);
  for (const listener of listeners) listener(reason);
}

/** Checks `key` with a request for one animal. Returns the reason why the key is unusable, or an empty text. */
async function verify(key) {
  const fault = faultOfKey(key);
  if (fault) return fault;
  try {
    await call(`${ROOT}v1/pets?limit=1`, { key });
    return '';
  } catch (failure) {
    if (isKeyRefused(failure)) return 'This key is not accepted: revoked, expired or mistyped.';
    return `The key was not checked. ${explain(failure)}`;
  }
}

const showKeyFault = (text) => showFault($('key'), $('key-error'), text);

/** Sets the attribute by which the style sheet shows what the key allows. */
function showState() {
  document.documentElement.dataset.key = !storedKey() ? 'none' : isReadOnly() ? 'read' : 'full';
}

function reveal(revealed) {
  $('key').type = revealed ? 'text' : 'password';
  $('key-show').ariaPressed = String(revealed);
  $('key-show').textContent = revealed ? 'Hide' : 'Show';
}

/** Adds the listeners. `accepted` runs when the service has accepted a key, with the focus on the heading. */
export function connectKey(accepted) {
  onSubmit('key-form', async () => {
    if (!isEnabled($('key-send'))) return;
    const key = $('key').value.trim();
    busy($('key-send'), true, 'Checking…');
    const fault = await verify(key);
    busy($('key-send'), false, 'Use this key');
    showKeyFault(fault);
    if (fault) return $('key').focus();
    storeKey(key);
    $('key').value = '';
    reveal(false);
    showState();
    document.querySelector('h1').focus();
    accepted();
  });
  $('key').addEventListener('input', () => showKeyFault(''));
  onPress($('key-show'), () => reveal($('key').type === 'password'));
  onPress($('forget'), () => leave());
  // The browser may restore an old state of this page after the other page has forgotten the key.
  addEventListener('pageshow', (event) => event.persisted && !storedKey() && leave());
  showState();
}
