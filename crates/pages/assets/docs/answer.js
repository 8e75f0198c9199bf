// The answer of the service: status, time, headers, and the body as it was sent.

import { make } from './shared/dom.js';
import { codeBox, copyButton } from './code.js';
import { indented } from './exact.js';

/** The colour of a status. */
const colour = (status) => (status >= 400 ? 'red' : 'green');

/** The badge of a status. */
export const statusPill = (status) => make('span', { class: `pill status ${colour(status)}` }, String(status));

/** An answer as elements. */
export function answerElements({ status, statusText, time, headers, text }) {
  const isJson = /json/i.test(headers.get('Content-Type') ?? '');
  const body = text === '' ? null : codeBox(isJson ? indented(text) : text, 'Body of the answer');
  return [
    make('p', { class: 'outcome' }, statusPill(status), ` ${statusText} in ${time} ms`.replaceAll('  ', ' ')),
    make('details', { class: 'received' },
      make('summary', {}, 'Headers'),
      make('dl', {}, [...headers].map(([name, value]) =>
        make('div', {}, make('dt', {}, name), make('dd', {}, value))))),
    body
      ? make('div', { class: 'panel' }, make('div', { class: 'panel-head' }, make('span', {}, 'Body'), copyButton(body)), body)
      : make('p', { class: 'hint' }, 'No body.'),
  ];
}

/** The query of the `Link` to the next page, or `null` on the last one. */
export function nextQuery(headers) {
  const target = /<([^>]*)>\s*;\s*rel="?next"?/.exec(headers.get('Link') ?? '')?.[1];
  return target ? new URL(target, location.origin).searchParams : null;
}
