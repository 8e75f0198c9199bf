// One animal: its fields, its JSON, and its place in the list.
//
// While the service offers getPet, one request finds an animal by its id. After the removal of getPet, the list is
// searched. A search cannot build a cursor, so it follows the links: first through pages of 100 animals, then through
// pages of the size that the user has chosen.

import { codePanel } from '../shared/code.js';
import { $, announce, enable, make, onPress, onSubmit, show, showFault, showText, spin } from '../shared/dom.js';
import { indented } from '../shared/json.js';
import { leaveIfRefused, onKeyGone } from '../shared/key.js';
import { explain, Refusal } from '../shared/service.js';
import { go, goToRow, mark, petShown, shownPage, wantedPlace } from './list.js';
import { animals, askForPet, detailsOf, isAtMost, isWhole, MAX_LIMIT, MAX_PAGES, PETS, walk } from './pets.js';
import { referenceOf, withQuery } from './place.js';

/** The shown animal. */
let found = null;
/** The state of the search for the place of `found`. */
let search = null;
/** The controller of the current request. */
let running = null;
/** The element that had the focus before the animal was shown. */
let opener = null;

const json = codePanel('JSON', 'The animal as JSON');

/** Shows an animal and its place in the list. */
export function showInList(pet) {
  openFound(pet);
  return locate();
}

function openFound(pet) {
  stop();
  search = null;
  if ($('found').hidden) opener = document.activeElement;
  fill(pet);
  showText($('found-status'), '');
  $('found-show').textContent = 'Show in the list';
  show($('found-show'), mark(pet.id) === undefined);
  show($('found'), true);
  $('found-title').focus();
}

/** Shows the known fields of an animal, at least its id. */
function fill(pet) {
  found = pet;
  $('found-title').replaceChildren(make('bdi', {}, pet.name ?? `Animal ${pet.id}`));
  showText($('found-text'), pet.name === undefined ? '' : detailsOf(pet));
  show($('found-json'), pet.json !== undefined);
  if (pet.json) json.show(indented(pet.json), () => pet.json);
}

function close() {
  stop();
  found = null;
  show($('found'), false);
}

function stop() {
  running?.abort();
  running = null;
}

/** Finds the animal with the entered id. */
async function find() {
  const id = $('find-id').value.trim();
  if (!isWhole(id)) return showFindFault('Enter a whole number in plain digits, such as 7.');
  stop();
  const mine = (running = new AbortController());
  enable($('find-send'), false);
  try {
    openFound((await askForPet(`${PETS}/${id}`, { signal: mine.signal })).pet);
  } catch (failure) {
    if (mine.signal.aborted || leaveIfRefused(failure)) return;
    if (failure instanceof Refusal && failure.status === 410) return showInList({ id });
    const isMissing = failure instanceof Refusal && failure.code === 'pet_not_found';
    showFindFault(isMissing ? 'No animal has this id.' : explain(failure));
  } finally {
    if (running === mine) running = null;
    enable($('find-send'), true);
  }
}

function showFindFault(text) {
  showFault($('find-id'), $('find-fault'), text);
  if (text) $('find-id').focus();
}

/** Returns a search that starts after the shown page if the animal comes later, otherwise at the first page. */
function newSearch({ id }, status, limit) {
  const page = shownPage();
  const last = page?.pets.at(-1);
  const isLater = last !== undefined && page.next !== null && page.place.status === status
    && page.place.limit === limit && !isAtMost(id, last.id);
  const start = isLater
    ? { next: page.next, trail: [...page.place.trail, page.place.reference], page: page.place.page && page.place.page + 1 }
    : { next: referenceOf(status, limit), trail: [], page: 1 };
  return { ...start, id, limit, seen: 0, reached: null };
}

/**
 * Continues a search. Returns the place of the animal, or `null` if it was not found. In this case `search.next` is the
 * next page to read, or `null` if the list does not contain the animal. `progress` runs after each page.
 */
async function searchOn(search, signal, progress) {
  let block = null;
  const take = ({ pets, next }, reference) => {
    if (pets.some((pet) => pet.id === search.id)) {
      block = reference;
      return true;
    }
    search.trail.push(reference);
    search.seen += pets.length;
    search.reached = pets.at(-1)?.id ?? search.reached;
    search.next = search.reached !== null && isAtMost(search.id, search.reached) ? null : next;
    progress();
    return search.next === null;
  };
  await walk(search.next && withQuery(search.next, { limit: MAX_LIMIT }), MAX_PAGES, { signal }, take);
  return block && placeIn(block, search, signal);
}

/** Returns the place of the animal, which is among the 100 animals that begin at `block`. */
async function placeIn(block, { id, limit, page, seen, trail: before }, signal) {
  const trail = [];
  let reference = null;
  const take = ({ pets }, here) => {
    if (pets.some((pet) => pet.id === id)) reference = here;
    else trail.push(here);
    return reference !== null;
  };
  await walk(withQuery(block, { limit }), MAX_LIMIT / limit, { signal }, take);
  return reference && { reference, trail: [...before, ...trail], page: page && page + seen / limit + trail.length };
}

/** Shows the row of the animal: at once if it is on the shown page, otherwise after a search. */
async function locate() {
  if (arrive()) return;
  const place = wantedPlace();
  // A filter that matches the animal stays.
  const filter = found.status === place.status ? place.status : '';
  search ??= newSearch(found, filter, place.limit);
  const mine = (running = new AbortController());
  $('found-show').textContent = 'Stop';
  spin($('found-show'), true);
  showText($('found-status'), 'Looking through the list…');
  let outcome;
  try {
    const target = await searchOn(search, mine.signal, () => showText($('found-status'), `${passed()}…`));
    if (running !== mine) return;
    if (target) outcome = await arriveAt(target);
    else outcome = search.next ? `Not reached yet. ${passed()}.` : 'The list does not contain this animal.';
    if (running !== mine) return;
  } catch (failure) {
    if (running !== mine || leaveIfRefused(failure)) return;
    outcome = `${mine.signal.aborted ? 'Stopped.' : explain(failure)} ${passed()}.`;
  }
  end(outcome);
}

const passed = () => `Looked through ${animals(search.seen)}${search.reached === null ? '' : `, up to id ${search.reached}`}`;

/** Goes to the page and the row of the animal. */
async function arriveAt({ reference, trail, page }) {
  search = null;
  await go(reference, trail, page);
  return arrive() ? '' : 'Its page could not be shown.';
}

/** Moves the focus to the row of the animal if the shown page contains it, and returns whether it does. */
function arrive() {
  const pet = petShown(found.id);
  if (pet === undefined) return false;
  fill(pet);
  search = null;
  end(`It is ${goToRow(pet.id)}.`);
  return true;
}

function end(outcome) {
  running = null;
  if (!search?.next) search = null;
  spin($('found-show'), false);
  $('found-show').textContent = search ? 'Continue the search' : 'Show in the list';
  showText($('found-status'), outcome);
  announce(outcome);
}

/** Adds the listeners of the form, the rows, and the box with the animal. */
export function connectFind() {
  $('found-json').append(json.element);
  onSubmit('find', find);
  $('find-id').addEventListener('input', () => showFindFault(''));
  onPress($('refresh'), () => showFindFault(''));
  $('rows').addEventListener('click', ({ target }) => openFound(petShown(target.closest('tr').dataset.id)));
  onPress($('found-show'), () => ($('found-show').textContent === 'Stop' ? running?.abort() : locate()));
  const leave = () => {
    const row = mark(found.id);
    close();
    (opener?.checkVisibility() && opener !== document.body ? opener : row?.querySelector('button') ?? $('list-title')).focus();
  };
  onPress($('found-close'), leave);
  $('found').addEventListener('keydown', ({ key }) => key === 'Escape' && leave());
  onKeyGone(() => {
    close();
    $('find').reset();
    showFindFault('');
  });
}
