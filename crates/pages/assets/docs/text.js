// The texts of the document, which are Markdown: as much of it as they use.

import { make } from '../shared/dom.js';

const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*/g;

/** A line of text with `code` and **bold** in it, as nodes. */
export function inline(text) {
  const nodes = [];
  let end = 0;
  for (const { index, 0: whole, 1: code, 2: bold } of text.matchAll(INLINE)) {
    nodes.push(text.slice(end, index), code ? make('code', {}, code) : make('b', {}, bold));
    end = index + whole.length;
  }
  return [...nodes, text.slice(end)];
}

/** Paragraphs, headings, lists and tables, as elements. A heading gets the tag `heading`. */
export function blocks(text = '', heading = 'h3') {
  return text.split(/\n{2,}/).filter(Boolean).map((block) => {
    if (block.startsWith('#')) return make(heading, {}, inline(block.replace(/^#+ */, '')));
    if (block.startsWith('|')) return table(block);
    if (block.startsWith('- ')) return list(block);
    return make('p', {}, inline(block));
  });
}

function list(block) {
  const items = block.split('\n').map((line) => make('li', {}, inline(line.replace(/^- /, ''))));
  return make('ul', {}, items);
}

function table(block) {
  const [head, , ...rows] = block.split('\n').map((line) => line.split('|').slice(1, -1));
  const row = (cells, tag, attributes) =>
    make('tr', {}, cells.map((cell) => make(tag, attributes, inline(cell.trim()))));
  const whole = make('table', {},
    make('thead', {}, row(head, 'th', { scope: 'col' })),
    make('tbody', {}, rows.map((cells) => row(cells, 'td'))));
  return make('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': head.join(', ').trim() }, whole);
}

/** `2030-12-05` as people write it. */
export function day(date) {
  const parsed = new Date(`${date}T00:00:00Z`);
  if (Number.isNaN(parsed.getTime())) return date;
  return parsed.toLocaleDateString('en-GB', {
    day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC',
  });
}
