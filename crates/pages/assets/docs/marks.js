// The badges beside a name: how stable it is, and when it ends.

import { make } from './shared/dom.js';
import { day } from './text.js';

const COLOURS = { beta: 'blue', experimental: 'amber', deprecated: 'amber' };

const mark = (kind, text = kind) => make('span', { class: `pill ${COLOURS[kind] ?? 'plain'}` }, text);

/** The badges of an operation, a parameter or an answer. */
export function marks(described) {
  const { deprecated } = described;
  const stability = described['x-stability'];
  const sunset = described['x-deprecated-sunset'];
  return [
    stability && mark(stability),
    deprecated && mark('deprecated', sunset ? `deprecated, removed on ${day(sunset)}` : 'deprecated'),
  ].filter(Boolean);
}
