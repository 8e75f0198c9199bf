// Boxes of code: in three colours, with a button that copies.

import { make } from './dom.js';

/** Milliseconds for which a button says that it has copied. */
const SAID = 2000;

/** A name of a member, an option or a keyword; a text; a number or a literal. */
const TOKEN = new RegExp([
  String.raw`("(?:[^"\\]|\\.)*"(?=\s*:)|(?<=\s)-\w\b|\b(?:as|await|const|curl|fetch|import|print|with)\b)`,
  String.raw`("(?:[^"\\]|\\.)*"|'[^']*'|${'`[^`]*`'})`,
  String.raw`((?<![\w.-])-?\d[\w.]*|\b(?:true|false|null)\b)`,
].join('|'), 'g');
const COLOURS = ['tok-name', 'tok-text', 'tok-value'];

/** A program or JSON as nodes, some of them coloured. */
function coloured(text) {
  const nodes = [];
  let end = 0;
  for (const { index, 0: token, ...groups } of text.matchAll(TOKEN)) {
    const colour = COLOURS.find((_, number) => groups[number + 1] !== undefined);
    nodes.push(text.slice(end, index), make('span', { class: colour }, token));
    end = index + token.length;
  }
  return [...nodes, text.slice(end)];
}

/** Copies `text`: whether that went well. Where the page did not come over TLS there is no clipboard. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = make('textarea', { class: 'unseen' });
    const before = document.activeElement;
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand('copy');
    area.remove();
    before.focus();
    return copied;
  }
}

/** Lets a button copy the text that `source` returns, and say so. */
export function copies(button, source) {
  const label = [...button.childNodes];
  button.ariaLive = 'polite';
  button.addEventListener('click', async () => {
    button.textContent = (await copy(source())) ? 'Copied' : 'Not copied';
    setTimeout(() => button.replaceChildren(...label), SAID);
  });
  return button;
}

/** A box of code below a head with `caption` and a button that copies; `show` gives it another text. */
export function codePanel(caption, label, text = '') {
  let source;
  const code = make('code');
  // What is long can be scrolled with the keyboard.
  const box = make('pre', { class: 'code', tabindex: '0', role: 'group', 'aria-label': label }, code);
  const button = copies(make('button', { type: 'button', class: 'quiet copy' }, 'Copy', make('span', { class: 'keyed' }, ' with key')), () => source());
  const panel = {
    element: make('div', { class: 'panel' }, make('div', { class: 'panel-head' }, make('span', {}, caption), button), box),
    /** Shows `next`, and lets the text be copied that `original` returns: with other spaces, or with the key. */
    show(next, original = () => next) {
      source = original;
      code.replaceChildren(...coloured(next));
    },
  };
  panel.show(text);
  return panel;
}
