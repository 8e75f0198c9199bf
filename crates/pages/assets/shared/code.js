// Boxes of code in three colors, with a button that copies.

import { make } from './dom.js';

/** The time for which a button shows that it has copied, in milliseconds. */
const SAID = 2000;

/** The tokens with a color: names, options and keywords; texts; numbers and literals. */
const TOKEN = new RegExp([
  String.raw`("(?:[^"\\]|\\.)*"(?=\s*:)|(?<=\s)-\w\b|\b(?:as|await|const|curl|fetch|import|print|with)\b)`,
  String.raw`("(?:[^"\\]|\\.)*"|'[^']*'|${'`[^`]*`'})`,
  String.raw`((?<![\w.-])-?\d[\w.]*|\b(?:true|false|null)\b)`,
].join('|'), 'g');
const COLORS = ['tok-name', 'tok-text', 'tok-value'];

/** Returns the nodes of a program or of JSON, with colors. */
function colored(text) {
  const nodes = [];
  let end = 0;
  for (const { index, 0: token, ...groups } of text.matchAll(TOKEN)) {
    const color = COLORS.find((_, number) => groups[number + 1] !== undefined);
    nodes.push(text.slice(end, index), make('span', { class: color }, token));
    end = index + token.length;
  }
  return [...nodes, text.slice(end)];
}

/** Copies `text` and returns whether that succeeded. Without TLS there is no clipboard API. */
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

/** Makes a button copy the text that `source` returns, and show that it has copied. */
export function copies(button, source) {
  const label = [...button.childNodes];
  button.ariaLive = 'polite';
  button.addEventListener('click', async () => {
    button.textContent = (await copy(source())) ? 'Copied' : 'Not copied';
    setTimeout(() => button.replaceChildren(...label), SAID);
  });
  return button;
}

/** Returns a box of code with `caption` and a button that copies. `show` replaces the text. */
export function codePanel(caption, label, text = '') {
  let source;
  const code = make('code');
  // Focusable, so that the keyboard can scroll long code.
  const box = make('pre', { class: 'code', tabindex: '0', role: 'group', 'aria-label': label }, code);
  const button = copies(make('button', { type: 'button', class: 'quiet copy' }, 'Copy', make('span', { class: 'keyed' }, ' with key')), () => source());
  const panel = {
    element: make('div', { class: 'panel' }, make('div', { class: 'panel-head' }, make('span', {}, caption), button), box),
    /** Shows `next`. The button copies the text that `original` returns, which may have other spaces or the key. */
    show(next, original = () => next) {
      source = original;
      code.replaceChildren(...colored(next));
    },
  };
  panel.show(text);
  return panel;
}
