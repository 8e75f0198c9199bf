// Copies text for the reader to paste elsewhere.

import { $ } from '../docs/shared/dom.js';

import { announce, show, showText } from './dom.js';

/** Copies `text`, which `what` names at the start of a sentence. */
export async function copy(text, what) {
  clearCopied();
  try {
    // There is no clipboard where the page does not come over TLS, and the browser may refuse it.
    await navigator.clipboard.writeText(text);
    showText($('copied'), `${what} is copied as JSON.`);
    announce($('copied').textContent);
  } catch {
    $('copy-area').value = text;
    show($('copy-text'), true);
    $('copy-area').focus();
    $('copy-area').select();
  }
}

/** Takes away what was said about the copy. */
export function clearCopied() {
  showText($('copied'), '');
  show($('copy-text'), false);
  $('copy-area').value = '';
}
