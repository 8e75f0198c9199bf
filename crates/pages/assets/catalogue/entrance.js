// The form that asks for the key.

import { $ } from '../docs/shared/dom.js';
import { connectKeyForm } from '../docs/shared/keyform.js';

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

/** Connects the form; `opened` runs once the service has taken a key. */
export function connectEntrance(opened) {
  const showKeyFault = (fault) => showFault($('key'), $('key-error'), fault);
  connectKeyForm({ showFault: showKeyFault, accepted: opened });
  onPress('forget', () => leave());
  onKeyGone(askForKey);
}
