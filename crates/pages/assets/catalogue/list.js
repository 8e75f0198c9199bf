// The list of animals: one page of it at a time.

import { $, enable } from '../docs/shared/dom.js';

import { explain, list, Refusal } from './api.js';
import { clearCopied, copy } from './copy.js';
import { animals, format, onPress, show, timeOfDay } from './dom.js';
import { labelOf, statusOf } from './pet.js';
import { placeOfAddress, pushPlace, referenceOf } from './place.js';
import { drawRows, focusRow } from './rows.js';
import { leaveIfRefused, onKeyGone } from './session.js';

/** Milliseconds after which a page that has not come is announced. */
const SLOW = 250;

/** Where the reader wants to be. */
let place;
/** The page whose rows are shown: its place, animals, text, next reference and time; `null` if none. */
let shown = null;
/** The request on its way. */
let loading = null;
/** The id of the animal that stands out. */
let marked = null;

/** The page that is shown, or `null`. */
export const shownPage = () => shown;

/** Where the reader wants to be. */
export const wantedPlace = () => place;

/** Shows the place that the address names. */
export function openPlace() {
  place = placeOfAddress();
  return load();
}

/** Goes to another place, as a step that the browser's back undoes. */
export function go(reference, trail, page) {
  pushPlace(reference, trail, page);
  return openPlace();
}

/** Lets the animal with this id stand out from now on. */
export function mark(id) {
  marked = id;
}

/** The animal with this id, if the page that is shown has it. */
export const petShown = (id) => shown?.pets.find((pet) => pet.id === id);

/** Moves the focus to an animal of the page that is shown: where it is, in words. */
export function goToRow(id) {
  mark(id);
  if (!visiblePets().some((pet) => pet.id === id)) {
    $('bare').checked = false;
    showPage();
  }
  return `row ${focusRow(id)} of ${pageName(shown.place)}`;
}

const goFirst = (status = place.status, limit = place.limit) => go(referenceOf(status, limit), [], 1);
const goNext = () => go(shown.next, [...place.trail, place.reference], place.page && place.page + 1);
const goPrevious = () => go(place.trail.at(-1), place.trail.slice(0, -1), place.page && place.page - 1);

/**
 * Reads and shows the page at `place`. A newer call overtakes this one. If it fails, the rows stay
 * that were shown before.
 */
export async function load() {
  loading?.abort();
  const mine = (loading = new AbortController());
  const slow = setTimeout(() => ($('list-status').textContent = 'Loading…'), SLOW);
  $('animals').setAttribute('aria-busy', 'true');
  show($('list-failure'), false);
  clearCopied();
  showControls();
  try {
    const page = await list(place.reference, { signal: mine.signal });
    mine.signal.throwIfAborted();
    shown = { ...page, place, time: timeOfDay() };
    showPage();
  } catch (failure) {
    if (!mine.signal.aborted && !leaveIfRefused(failure)) showFailure(failure);
  } finally {
    clearTimeout(slow);
    if (loading === mine) {
      $('animals').setAttribute('aria-busy', 'false');
      showControls();
    }
  }
}

const pageName = ({ page }) => (page ? `page ${format(page)}` : 'a later page');

function showControls() {
  for (const radio of $('filter').elements.status) radio.checked = radio.value === place.status;
  $('limit').value = String(place.limit);
  show($('bare-field'), place.status === '');
  const busy = $('animals').getAttribute('aria-busy') === 'true';
  enable($('first'), place.page !== 1);
  enable($('previous'), place.trail.length > 0);
  enable($('next'), !busy && isCurrent() && shown.next !== null);
  enable($('copy'), shown !== null);
  $('page').textContent = place.page ? `Page ${format(place.page)}` : 'A later page';
}

/** Whether the rows are of the place where the reader wants to be. */
const isCurrent = () => shown !== null && shown.place.reference === place.reference;

/** Whether the animals with a status are left out. The service has no such filter: so of this page. */
const isBare = () => $('bare').checked && shown.place.status === '';

const visiblePets = () => (isBare() ? shown.pets.filter((pet) => statusOf(pet) === 'none') : shown.pets);

function showPage() {
  const pets = visiblePets();
  drawRows(pets, marked);
  show($('animals'), pets.length > 0);
  show($('empty'), pets.length === 0);
  show($('show-all'), shown.place.status !== '');
  $('empty-text').textContent = emptyText();
  $('list-status').textContent = statusText(pets.length);
}

function statusText(count) {
  const where = shown.next !== null || shown.place.page !== 1 ? `, ${pageName(shown.place)}` : '';
  return `${isBare() ? `${format(count)} of ` : ''}${animals(shown.pets.length)} shown${where}`;
}

function emptyText() {
  if (shown.pets.length > 0) return 'Every animal of this page has a status.';
  const { status } = shown.place;
  if (status) return `There is no animal with the status ${labelOf(status).toLowerCase()}.`;
  return shown.place.page === 1 ? 'There is no animal yet. Add the first one.' : 'There is no animal on this page.';
}

function showFailure(failure) {
  const isStale = failure instanceof Refusal && failure.code === 'invalid_query';
  const kind = shown?.place.status ? `the animals with the status ${labelOf(shown.place.status).toLowerCase()}` : 'all animals';
  const before = shown ? ` Below is ${pageName(shown.place)} of ${kind}, as it was at ${shown.time}.` : '';
  $('list-failure-text').textContent = explain(failure) + before;
  $('list-retry').textContent = isStale ? 'Start from the first page' : 'Try again';
  $('list-retry').onclick = () => fromList(isStale ? goFirst : load);
  show($('list-failure'), true);
  show($('animals'), shown !== null && visiblePets().length > 0);
  $('list-status').textContent = '';
}

/** The JSON of what is shown: as the service sent it, or those of its animals that are shown. */
const shownJson = () => (isBare() ? `[${visiblePets().map((pet) => pet.json).join(',')}]` : shown.text);

function clear() {
  loading?.abort();
  shown = null;
  marked = null;
  $('rows').replaceChildren();
  show($('list-failure'), false);
  clearCopied();
}

/** Shows another page of the list from its top. */
function turn(step) {
  step();
  $('list-title').scrollIntoView({ block: 'nearest' });
}

/** Runs `action`, which may take the button away that was pressed, and the focus with it. */
function fromList(action) {
  action();
  $('list-title').focus();
}

/** Connects the controls of the list. */
export function connectList() {
  onPress('refresh', load);
  onPress('first', () => turn(goFirst));
  onPress('previous', () => turn(goPrevious));
  onPress('next', () => turn(goNext));
  onPress('show-all', () => fromList(() => goFirst('')));
  onPress('copy', () => copy(shownJson(), 'The page'));
  $('filter').addEventListener('submit', (event) => event.preventDefault());
  $('filter').addEventListener('change', ({ target }) => {
    if (target !== $('bare')) goFirst($('filter').elements.status.value, Number($('limit').value));
    else if (shown !== null) showPage();
  });
  onKeyGone(clear);
}
