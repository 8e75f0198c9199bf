// Turns the Markdown in the descriptions of the OpenAPI document into elements. Knows only the parts of Markdown that
// the descriptions use.

import { make } from '../shared/dom.js';

/** Returns the nodes of a line of text. Parts between backticks become `<code>` elements. */
export const inline = (text) => text.split('`').map((part, index) => (index % 2 ? make('code', {}, part) : part));

/** Returns the elements of paragraphs, headings and tables. A heading gets the tag `heading`. */
export function blocks(text = '', heading = 'h3') {
  return text.split(/\n{2,}/).filter(Boolean).map((block) => {
    if (block.startsWith('#')) return make(heading, {}, inline(block.replace(/^#+ */, '')));
    if (block.startsWith('|')) return table(block);
    return make('p', {}, inline(block));
  });
}

function table(block) {
  const [head, , ...rows] = block.split('\n').map((line) => line.split('|').slice(1, -1));
  const row = (cells, tag, attributes) =>
    make('tr', {}, cells.map((cell) => make(tag, attributes, inline(cell.trim()))));
  const whole = make('table', {},
    make('thead', {}, row(head, 'th', { scope: 'col' })),
    make('tbody', {}, rows.map((cells) => row(cells, 'td'))));
  return make('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': head.join(', ').trim() }, whole);
}

/** Returns a date such as `2030-12-05` in words. */
export function day(date) {
  const parsed = new Date(`${date}T00:00:00Z`);
  if (Number.isNaN(parsed.getTime())) return date;
  return parsed.toLocaleDateString('en-GB', {
    day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC',
  });
}
