// Boxes of code: with a button that copies, and with a choice of languages.

import { make } from './shared/dom.js';
import { LANGUAGES } from './samples.js';

/** A box with a text that may be long: it can be scrolled with the keyboard. */
export const codeBox = (text, label) =>
  make('pre', { class: 'code', tabindex: '0', role: 'region', 'aria-label': label }, make('code', {}, text));

/** A button that copies the text of `box`, and says so. */
export function copyButton(box) {
  const button = make('button', { type: 'button', class: 'quiet copy', 'aria-live': 'polite' }, 'Copy');
  button.addEventListener('click', async () => {
    button.textContent = (await copy(box)) ? 'Copied' : 'Press Ctrl+C';
    setTimeout(() => (button.textContent = 'Copy'), 2000);
  });
  return button;
}

/** Where the page did not come over TLS there is no clipboard: the text is selected and copied. */
async function copy(box) {
  try {
    await navigator.clipboard.writeText(box.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(box);
    return document.execCommand('copy');
  }
}

/** One choice of a language is for every sample on the page. */
const samples = new Set();
let language = Object.keys(LANGUAGES)[0];

/** A box with the program of a request; `show` gives it another request. */
export function sample(label) {
  const code = make('code');
  const box = make('pre', { class: 'code sample', tabindex: '0', role: 'region', 'aria-label': label }, code);
  const buttons = Object.keys(LANGUAGES).map((name) => {
    const button = make('button', { type: 'button', class: 'quiet', 'data-language': name }, name);
    button.addEventListener('click', () => choose(name));
    return button;
  });
  const languages = make('div', { class: 'languages', role: 'group', 'aria-label': 'Language of the samples' }, buttons);
  let request;
  const draw = () => {
    code.textContent = LANGUAGES[language](request);
    for (const button of buttons) button.ariaPressed = String(button.textContent === language);
  };
  samples.add(draw);
  return {
    element: make('div', { class: 'panel' },
      make('div', { class: 'panel-head' }, languages, copyButton(box)), box),
    show(next) {
      request = next;
      draw();
    },
  };
}

function choose(name) {
  language = name;
  for (const draw of samples) draw();
}
