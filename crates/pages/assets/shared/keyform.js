// The form in which an API key is entered: has the key checked, and keeps it.

import { $, enable, isEnabled } from './dom.js';
import { storeKey, verifyKey } from './key.js';

function reveal(revealed) {
  $('key').type = revealed ? 'text' : 'password';
  $('key-show').ariaPressed = String(revealed);
  $('key-show').textContent = revealed ? 'Hide' : 'Show';
}

/**
 * Makes the form work. `showFault` shows why a key cannot be used, and with an empty text nothing;
 * `accepted` runs once the service has taken a key.
 */
export function connectKeyForm({ showFault, accepted }) {
  const label = $('key-send').textContent;

  async function enter(event) {
    event.preventDefault();
    if (!isEnabled($('key-send'))) return;
    const key = $('key').value.trim();
    enable($('key-send'), false);
    $('key-send').textContent = 'Checking…';
    const fault = await verifyKey(key);
    enable($('key-send'), true);
    $('key-send').textContent = label;
    showFault(fault);
    if (fault) return $('key').focus();
    storeKey(key);
    $('key').value = '';
    reveal(false);
    accepted();
  }

  $('key-form').addEventListener('submit', enter);
  $('key').addEventListener('input', () => showFault(''));
  $('key-show').addEventListener('click', () => reveal($('key').type === 'password'));
}
