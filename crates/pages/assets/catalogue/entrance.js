// The form that asks for the key.

import { $, enable, isEnabled } from '/docs/shared/dom.js';
import { storeKey, verifyKey } from '/docs/shared/key.js';

import { onPress, show, showFault } from './dom.js';
import { leave, onKeyGone } from './session.js';

/** Shows the form, with the reason why a key is asked for if there is one. */
export function askForKey(reason = '') {
  show($('catalogue'), false);
  show($('forget'), false);
  show($('entrance'), true);
  showFault($('key'), $('key-error'), reason);
  $('key').focus();
}

/** Asks the service whether it takes the key that was entered, and then runs `opened`. */
async function enter(opened) {
  if (!isEnabled($('key-send'))) return;
  const key = $('key').value.trim();
  enable($('key-send'), false);
  $('key-send').textContent = 'Checking…';
  const fault = await verifyKey(key);
  enable($('key-send'), true);
  $('key-send').textContent = 'Open';
  if (fault) return askForKey(fault);
  storeKey(key);
  $('key').value = '';
  reveal(false);
  showFault($('key'), $('key-error'), '');
  opened();
}

function reveal(revealed) {
  $('key').type = revealed ? 'text' : 'password';
  $('key-show').setAttribute('aria-pressed', String(revealed));
  $('key-show').textContent = revealed ? 'Hide' : 'Show';
}

/** Connects the form; `opened` runs once the service has taken a key. */
export function connectEntrance(opened) {
  $('key-form').addEventListener('submit', (event) => {
    event.preventDefault();
    enter(opened);
  });
  $('key').addEventListener('input', () => showFault($('key'), $('key-error'), ''));
  onPress('key-show', () => reveal($('key').type === 'password'));
  onPress('forget', () => leave());
  onKeyGone(askForKey);
}
