// The API key of this tab coming and going: the form in which it is entered, and the button that forgets it.

import { $, busy, isEnabled, onPress, onSubmit, ROOT, showFault } from './dom.js';
import { call, explain, Refusal } from './service.js';
import { faultOfKey, isReadOnly, storedKey, storeKey } from './stored.js';

const listeners = [];

/**
 * Runs `listener` when the key goes, so that nothing of what it gave access to stays. It is handed why: an
 * empty text if the reader forgot the key on purpose.
 */
export function onKeyGone(listener) {
  listeners.push(listener);
}

/** Whether the service refused the API key itself. */
export const isKeyRefused = (failure) => failure instanceof Refusal && failure.status === 401;

/** Whether `failure` was the key's fault: then the key is forgotten. */
export function leaveIfRefused(failure) {
  const refused = isKeyRefused(failure);
  if (refused) leave('This key is no longer accepted: it was revoked, or has expired.');
  return refused;
}

/** Forgets the key and all that it gave access to. */
function leave(reason = '') {
  storeKey('');
  showState();
  showKeyFault(reason);
  for (const listener of listeners) listener(reason);
}

/** Asks the service for one animal with `key`: why the key cannot be used, or an empty text. */
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

/** The style sheet shows by this what each kind of key allows. */
function showState() {
  document.documentElement.dataset.key = !storedKey() ? 'none' : isReadOnly() ? 'read' : 'full';
}

function reveal(revealed) {
  $('key').type = revealed ? 'text' : 'password';
  $('key-show').ariaPressed = String(revealed);
  $('key-show').textContent = revealed ? 'Hide' : 'Show';
}

/** Makes the form and the button work. `accepted` runs once the service has taken a key, with the focus on the heading. */
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
  // The browser may show the page as it was, after the key was forgotten on the other one.
  addEventListener('pageshow', (event) => event.persisted && !storedKey() && leave());
  showState();
}
