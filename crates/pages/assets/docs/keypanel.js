// The form that asks for the key, has it checked, and forgets it.

import { $ } from './shared/dom.js';
import { forgetKey, storedKey, verifyKey } from './shared/key.js';
import { connectKeyForm } from './shared/keyform.js';

/** Shows whether there is a key. The style sheet takes hints about a missing key away. */
function showState(text) {
  const hasKey = storedKey() !== '';
  $('key-form').hidden = hasKey;
  $('key-kept').hidden = !hasKey;
  $('key-state').textContent = text;
  document.body.classList.toggle('has-key', hasKey);
}

function showFault(text) {
  $('key-error').textContent = text;
  $('key-error').hidden = text === '';
  $('key').ariaInvalid = String(text !== '');
}

function accept() {
  showState('The service accepted the key.');
  $('forget').focus();
}

/** Checks the key of this tab again, and says how that went. */
async function check() {
  const fault = await verifyKey(storedKey());
  if (storedKey()) showState(fault || 'The service accepted the key.');
}

/** Makes the panel work. `onForget` is called when the key is forgotten. */
export function startKeyPanel(onForget) {
  connectKeyForm({ showFault, accepted: accept });
  $('forget').addEventListener('click', () => {
    forgetKey();
    onForget();
    showState('The key is forgotten.');
    $('key').focus();
  });
  showState(storedKey() ? 'Checking the key of this tab…' : '');
  if (storedKey()) check();
}

/** Takes notice of an answer to the key: it may have been revoked meanwhile. */
export function noteAnswer({ status }) {
  if (status === 401 && storedKey()) showState('The service no longer takes this key. Forget it, and enter another.');
}
