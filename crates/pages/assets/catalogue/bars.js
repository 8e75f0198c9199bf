// The bars that show how many animals have which status.

import { $, make } from '../docs/shared/dom.js';

import { format } from './dom.js';
import { labelOf } from './pet.js';

/** Shows a bar for each status; `totals` has their numbers, of `seen` animals together. */
export function drawBars(totals, seen) {
  $('bars').replaceChildren(...Object.entries(totals).map(([status, total]) => barOf(status, total, seen)));
}

function barOf(status, total, seen) {
  const share = seen === 0 ? 0 : (100 * total) / seen;
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const bar = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  svg.setAttribute('aria-hidden', 'true');
  bar.setAttribute('class', status);
  bar.setAttribute('width', `${share}%`);
  bar.setAttribute('height', '100%');
  svg.append(bar);
  const value = make('span', { class: 'value' }, format(total));
  value.append(make('span', { class: 'share' }, `${percent(share)} %`));
  return make('li', {}, make('span', {}, labelOf(status)), value, svg);
}

/** A few among thousands are not none. */
const percent = (share) => (share > 0 && share < 1 ? '< 1' : String(Math.round(share)));
