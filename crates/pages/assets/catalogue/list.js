// The list of animals, one page at a time.

import { $, capital, enable, make, onPress, show, spin } from '../shared/dom.js';
import { copies } from '../shared/code.js';
import { leaveIfRefused, onKeyGone } from '../shared/key.js';
import { explain, Refusal } from '../shared/service.js';
import { animals, format, isAtMost, labelOf, list, MAX_LIMIT, MAX_PAGES, pill, statusOf, timeOfDay, walk } from './pets.js';
import { parameterOf, placeOfAddress, pushPlace, referenceOf, withQuery } from './place.js';

/** The delay before a slow page is announced, in milliseconds. */
const SLOW = 250;

/** The title of the page before a list is shown. */
const TITLE = document.title;

/** The requested place. */
let place;
/**
 * The shown page: place, animals, text, next reference and time; `null` if none. `listWithoutStatus` adds how far it
 * has read (`far`), and whether more animals may follow an incomplete page (`isCut`).
 */
let shown = null;
/** The controller of the current request. */
let loading = null;
/** The id of the highlighted animal. */
let marked = null;

/** Returns the shown page, or `null`. */
export const shownPage = () => shown;

/** The requested place. */
export const wantedPlace = () => place;

/** Returns the animal with this id if the shown page contains it. */
export const petShown = (id) => shown?.pets.find((pet) => pet.id === id);

/** Shows the page of the list that the address names. */
export function openPlace() {
  place = placeOfAddress();
  return load();
}

/** Goes to another place, with an entry in the browser's history. */
export function go(reference, trail, page) {
  pushPlace(reference, trail, page);
  return openPlace();
}

const goFirst = (status = place.status, limit = place.limit) => go(referenceOf(status, limit), [], 1);
const goNext = () => go(shown.next, [...place.trail, place.reference], place.page && place.page + 1);

async function goPrevious() {
  const [from, trail] = [place, place.trail.slice(0, -1)];
  let reference = from.trail.at(-1);
  // A search records pages of 100 animals in the trail. The previous page of the chosen size is the end of such a page.
  if (parameterOf(reference, 'limit') !== String(from.limit)) {
    const pages = [];
    const start = withQuery(reference, { limit: from.limit });
    await walk(start, MAX_LIMIT / from.limit, {}, (_, page) => void pages.push(page));
    if (place !== from) return;
    reference = pages.pop();
    trail.push(...pages);
  }
  await go(reference, trail, from.page && from.page - 1);
}

/** Reads and shows the page at the requested place. A new call cancels the previous call. An error keeps the rows. */
export async function load() {
  loading?.abort();
  const mine = (loading = new AbortController());
  const slow = setTimeout(() => ($('list-status').textContent = 'Loading…'), SLOW);
  $('animals').ariaBusy = 'true';
  show($('list-failure'), false);
  showControls();
  try {
    const read = place.status === 'none' ? listWithoutStatus : list;
    const page = await read(place.reference, { signal: mine.signal });
    mine.signal.throwIfAborted();
    shown = { ...page, place, time: timeOfDay() };
    showPage();
  } catch (failure) {
    if (!mine.signal.aborted && !leaveIfRefused(failure)) showFailure(failure);
  } finally {
    clearTimeout(slow);
    if (loading === mine) {
      $('animals').ariaBusy = 'false';
      showControls();
    }
  }
}

/** Reads animals without a status until a page is full, and one more to know whether there is another page. */
async function listWithoutStatus(reference, options) {
  const [limit, after] = ['limit', 'after'].map((name) => parameterOf(reference, name));
  const pets = [];
  let [seen, reached, full] = [0, null, null];
  const start = withQuery(reference, { status: '', after: '', limit: MAX_LIMIT });
  const end = await walk(start, MAX_PAGES, options, (page, block) => {
    for (const pet of page.pets.filter(({ id }) => !after || !isAtMost(id, after))) {
      if (statusOf(pet) === 'none' && pets.length === Number(limit)) full = block;
      if (full) return true;
      if (statusOf(pet) === 'none') pets.push(pet);
      [seen, reached] = [seen + 1, pet.id];
    }
    if (seen > 0 && page.next) $('list-status').textContent = `Looked through ${animals(seen)}…`;
    return false;
  });
  const next = (full ?? end) && withQuery(full ?? end, { status: 'none', limit, after: full ? pets.at(-1).id : '' });
  const far = `Looked through ${animals(seen)}${reached === null ? '' : `, up to id ${reached}`}`;
  return { pets, next, far, isCut: !full && end !== null, text: `[${pets.map(({ json }) => json).join(',')}]` };
}

const pageName = ({ page }) => (page ? `page ${format(page)}` : 'a later page');
const kindName = ({ status }) => (status ? labelOf(status) : 'All animals');

function showControls() {
  for (const radio of $('filter').elements.status) radio.checked = radio.value === place.status;
  $('limit').value = String(place.limit);
  enable($('copy'), shown !== null);
  if (shown === null) return;
  const next = $('animals').ariaBusy === 'false' && shown.place.reference === place.reference && shown.next !== null;
  const steps = { first: place.page !== 1, previous: place.trail.length > 0, next };
  for (const button of buttons()) enable(button, steps[button.dataset.step]);
  for (const pager of pagers()) {
    show(pager, isPaged());
    pager.querySelector('.hint').textContent = capital(pageName(shown.place));
  }
}

const pagers = () => document.querySelectorAll('.pager');
const buttons = () => document.querySelectorAll('[data-step]');

/** Returns whether there is another page than the shown one. */
const isPaged = () => shown.next !== null || shown.place.page !== 1;

function showPage() {
  const { pets, far } = shown;
  drawRows();
  show($('animals'), pets.length > 0);
  show($('empty'), pets.length === 0);
  show($('show-all'), shown.place.status !== '');
  $('empty-text').textContent = emptyText();
  const where = isPaged() ? `, ${pageName(shown.place)}` : '';
  $('list-status').textContent = `${animals(pets.length)} shown${where}${far ? `. ${far}.` : ''}`;
  document.title = `${kindName(shown.place)}, ${pageName(shown.place)} – ${TITLE}`;
}

function emptyText() {
  const { place: { status, page }, isCut } = shown;
  if (isCut) return 'No animal without a status so far. “Next” looks further.';
  if (status === 'none') return page === 1 ? 'Every animal has a status.' : 'Every further animal has a status.';
  if (status) return `There is no animal with the status ${labelOf(status).toLowerCase()}.`;
  return page === 1 ? 'There is no animal yet. Add the first one.' : 'There is no animal on this page.';
}

function showFailure(failure) {
  const isStale = failure instanceof Refusal && failure.code === 'invalid_query';
  const status = shown?.place.status;
  const kind = status === 'none' ? 'the animals without a status'
    : status ? `the animals with the status ${labelOf(status).toLowerCase()}` : 'all animals';
  const before = shown ? ` Shown is ${pageName(shown.place)} of ${kind}, as it was at ${shown.time}.` : '';
  $('list-failure-text').textContent = explain(failure) + before;
  $('list-retry').textContent = isStale ? 'Start from the first page' : 'Try again';
  $('list-retry').onclick = () => fromList(isStale ? goFirst : load);
  show($('list-failure'), true);
  $('list-failure').scrollIntoView({ block: 'nearest' });
  $('list-status').textContent = '';
}

function rowOf(pet) {
  const name = make('button', { type: 'button', class: 'open' }, make('bdi', {}, pet.name));
  return make(
    'tr', { role: 'row', tabindex: '-1', 'data-id': pet.id, class: pet.id === marked && 'new' },
    make('td', { role: 'cell', class: 'id', 'data-label': '#' }, pet.id),
    make('th', { role: 'rowheader', scope: 'row' }, name),
    make('td', { role: 'cell', class: 'category', 'data-label': 'category ' }, pet.categoryId),
    make('td', { role: 'cell' }, pill(pet)),
  );
}

const rowWith = (id) => [...$('rows').rows].find((row) => row.dataset.id === id);

/** Draws the rows of the shown page. A focused row keeps the focus. */
function drawRows() {
  const { activeElement } = document;
  const focused = activeElement.closest('#rows tr')?.dataset.id;
  $('rows').replaceChildren(...shown.pets.map(rowOf));
  if (focused === undefined) return;
  const row = rowWith(focused);
  (activeElement.matches('tr') ? row : row?.querySelector('button') ?? $('list-title')).focus();
}

/** Highlights the row of the animal with this id, now and when it is drawn again. */
export function mark(id) {
  marked = id;
  for (const row of $('rows').rows) row.classList.toggle('new', row.dataset.id === id);
  return rowWith(id);
}

/** Moves the focus to an animal of the shown page, and returns its position in words. */
export function goToRow(id) {
  const row = mark(id);
  row.focus({ preventScroll: true });
  row.scrollIntoView({ block: 'center' });
  return `row ${row.sectionRowIndex + 1} of ${pageName(shown.place)}`;
}

function clear() {
  loading?.abort();
  shown = null;
  marked = null;
  $('rows').replaceChildren();
  for (const part of [$('animals'), $('empty'), $('list-failure'), ...pagers()]) show(part, false);
  document.title = TITLE;
}

/** Turns to another page, and scrolls to the top of the list when the page is there. */
async function turn(step, button) {
  const before = shown;
  spin(button, true);
  try {
    await step();
    if (shown !== before) $('list-title').scrollIntoView({ block: 'nearest' });
  } catch (failure) {
    if (!leaveIfRefused(failure)) showFailure(failure);
  } finally {
    spin(button, false);
  }
}

/** Runs `action`, which hides the pressed button, and moves the focus to the title. */
function fromList(action) {
  action();
  $('list-title').focus();
}

/** Adds the listeners of the list. */
export function connectList() {
  onPress($('refresh'), (button) => turn(load, button));
  const steps = { first: goFirst, previous: goPrevious, next: goNext };
  for (const button of buttons()) onPress(button, () => turn(steps[button.dataset.step], button));
  onPress($('show-all'), () => fromList(() => goFirst('')));
  copies($('copy'), () => shown?.text ?? '');
  $('filter').addEventListener('submit', (event) => event.preventDefault());
  $('filter').addEventListener('change', () =>
    goFirst($('filter').elements.status.value, Number($('limit').value)));
  onKeyGone(clear);
}
