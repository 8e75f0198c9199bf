// The rows of the list.

import { $, make } from '../docs/shared/dom.js';

import { pill } from './pet.js';

function rowOf(pet, isMarked) {
  const row = make(
    'tr', { role: 'row', tabindex: '-1', 'data-id': pet.id },
    make('td', { role: 'cell', class: 'number', 'data-label': 'id' }, pet.id),
    make('th', { role: 'rowheader', scope: 'row' }, make('bdi', {}, pet.name)),
    make('td', { role: 'cell', class: 'number', 'data-label': 'category' }, pet.categoryId),
    make('td', { role: 'cell' }, pill(pet)),
  );
  if (isMarked) row.className = 'new';
  return row;
}

const rowWith = (id) => [...$('rows').rows].find((row) => row.dataset.id === id);

/** Shows these animals; the one with the id `marked` stands out. A focused row keeps the focus. */
export function drawRows(pets, marked) {
  const focused = document.activeElement.closest('#rows tr')?.dataset.id;
  $('rows').replaceChildren(...pets.map((pet) => rowOf(pet, pet.id === marked)));
  if (focused !== undefined) (rowWith(focused) ?? $('list-title')).focus();
}

/** Moves the focus to the row of an animal that is shown, which stands out: its number. */
export function focusRow(id) {
  const row = rowWith(id);
  for (const other of $('rows').rows) other.classList.toggle('new', other === row);
  row.focus({ preventScroll: true });
  row.scrollIntoView({ block: 'center' });
  return row.sectionRowIndex + 1;
}
