// The fields of the form that adds an animal, and what is wrong with them.

import { $ } from '../docs/shared/dom.js';

import { show, showFault, showText } from './dom.js';

const FIELDS = ['name', 'categoryId', 'status'];

/** The animal as it is typed. */
export const readForm = () => ({
  name: $('name').value, categoryId: $('categoryId').value.trim(), status: $('status').value,
});

/** Whether the focus is in the form, or nowhere. */
export const hasFocus = () => document.activeElement === document.body || $('add').contains(document.activeElement);

/** The faults that are plain without the service; the rules themselves are the service's. */
export function obviousFaults({ name, categoryId }) {
  const faults = {};
  if (name === '') faults.name = 'Enter a name.';
  if (categoryId === '') faults.categoryId = 'Enter the id of a category.';
  else if (!/^-?(0|[1-9]\d*)$/.test(categoryId)) faults.categoryId = 'Enter a whole number in plain digits, such as 7.';
  return faults;
}

/** Sorts a message of the service, "`name`: is required; `status`: …", by the fields it names. */
export function faultsOf(message) {
  const faults = {};
  const rest = [];
  for (const part of message.split(/; (?=`[^`]*`: )/)) {
    const [, field, text] = /^`([^`]*)`: (.*)$/s.exec(part) ?? [];
    if (!FIELDS.includes(field)) rest.push(part);
    else faults[field] = faults[field] ? `${faults[field]}; ${text}` : text[0].toUpperCase() + text.slice(1);
  }
  return { faults, rest: rest.join('; ') };
}

/** Shows each fault at its field, and `rest` or a summary above them. */
export function showFaults(faults, rest = '') {
  for (const field of FIELDS) showFaultOf(field, faults[field] ?? '');
  const bad = FIELDS.filter((field) => faults[field]);
  const count = bad.length === 1 ? 'one field needs' : `${bad.length} fields need`;
  showText($('add-failure'), rest || `Not added: ${count} a change.`);
  if (bad.length > 0 && hasFocus()) $(bad[0]).focus();
}

/** Takes all faults away. */
export function clearFaults() {
  for (const field of FIELDS) showFaultOf(field, '');
  show($('add-failure'), false);
}

const showFaultOf = (field, text) => showFault($(field), $(`${field}-error`), text);

/** Takes the fault of a field away as soon as the field changes. */
export function connectFields() {
  for (const field of FIELDS) $(field).addEventListener('input', () => showFaultOf(field, ''));
}
