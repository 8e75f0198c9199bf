// The form that asks for the key, has it checked, and forgets it.

import { $, enable, isEnabled } from '/docs/shared/dom.js';
import { forgetKey, storeKey, storedKey, verifyKey } from '/docs/shared/key.js';

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

function reveal(revealed) {
  $('key').type = revealed ? 'text' : 'password';
  $('key-show').ariaPressed = String(revealed);
  $('key-show').textContent = revealed ? 'Hide' : 'Show';
}

async function enter(event) {
  event.preventDefault();
  if (!isEnabled($('key-send'))) return;
  const key = $('key').value.trim();
  enable($('key-send'), false);
  $('key-send').textContent = 'Checking…';
  const fault = await verifyKey(key);
  enable($('key-send'), true);
  $('key-send').textContent = 'Use this key';
  showFault(fault);
  if (fault) return $('key').focus();
  storeKey(key);
  $('key').value = '';
  reveal(false);
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
  $('key-form').addEventListener('submit', enter);
  $('key').addEventListener('input', () => showFault(''));
  $('key-show').addEventListener('click', () => reveal($('key').type === 'password'));
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
