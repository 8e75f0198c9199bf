// One animal by its id: what it is, its JSON, and its place in the list.
//
// The service answers for one animal until that operation is removed. From then on the page looks
// through the list instead.

import { $, enable, make } from '../docs/shared/dom.js';

import { explain, get, Refusal } from './api.js';
import { copy } from './copy.js';
import { animals, announce, onPress, show, showFault, showText } from './dom.js';
import { go, goToRow, petShown, shownPage, wantedPlace } from './list.js';
import { detailsOf } from './pet.js';
import { newSearch, searchOn } from './search.js';
import { leaveIfRefused, onKeyGone } from './session.js';

/** The animal that is shown. */
let found = null;
/** The search for its place, as far as it has come. */
let search = null;
/** The requests on their way. */
let running = null;

/** Shows an animal, and looks for its place in the list. */
export function showInList(pet) {
  openFound(pet);
  return locate();
}

function openFound(pet) {
  stop();
  search = null;
  fill(pet);
  showText($('found-status'), '');
  $('found-show').textContent = 'Show in the list';
  show($('found'), true);
  $('found-title').focus();
}

/** Shows what is known of an animal: at least its id. */
function fill(pet) {
  found = pet;
  $('found-title').replaceChildren(make('bdi', {}, pet.name ?? `Animal ${pet.id}`));
  showText($('found-text'), pet.name === undefined ? '' : detailsOf(pet));
  show($('found-copy'), pet.json !== undefined);
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

/** Finds the animal whose id was entered. */
async function find() {
  const id = $('find-id').value.trim();
  showFindFault(/^-?(0|[1-9]\d*)$/.test(id) ? '' : 'Enter a whole number in plain digits, such as 7.');
  if ($('find-id').getAttribute('aria-invalid') === 'true') return;
  stop();
  const mine = (running = new AbortController());
  enable($('find-send'), false);
  try {
    openFound(await get(id, { signal: mine.signal }));
  } catch (failure) {
    if (mine.signal.aborted || leaveIfRefused(failure)) return;
    if (failure instanceof Refusal && failure.status === 410) return showInList({ id });
    const isMissing = failure instanceof Refusal && failure.code === 'pet_not_found';
    showFindFault(isMissing ? `There is no animal with the id ${id}.` : explain(failure));
  } finally {
    if (running === mine) running = null;
    enable($('find-send'), true);
  }
}

function showFindFault(text) {
  showFault($('find-id'), $('find-fault'), text);
  if (text) $('find-id').focus();
}

/** Shows the row of the animal: at once if it is on the page, else after a search along the list. */
async function locate() {
  if (arrive()) return;
  const place = wantedPlace();
  // A filter that lets the animal through stays.
  const filter = found.status === place.status ? place.status : '';
  search ??= newSearch(found.id, filter, place.limit, shownPage());
  const mine = (running = new AbortController());
  $('found-show').textContent = 'Stop';
  showText($('found-status'), 'Looking through the list…');
  let outcome;
  try {
    const target = await searchOn(search, mine.signal, () => showText($('found-status'), `${passed()}…`));
    if (running !== mine) return;
    if (target) outcome = await arriveAt(target);
    else outcome = search.next ? `Not reached yet. ${passed()}.` : 'The list does not have it.';
    if (running !== mine) return;
  } catch (failure) {
    if (running !== mine || leaveIfRefused(failure)) return;
    outcome = `${mine.signal.aborted ? 'Stopped.' : explain(failure)} ${passed()}.`;
  }
  end(outcome);
}

const passed = () => `Looked through ${animals(search.seen)}${search.reached === null ? '' : `, up to id ${search.reached}`}`;

/** Goes to the page of the animal, and to its row. */
async function arriveAt({ reference, trail, page }) {
  search = null;
  await go(reference, trail, page);
  return arrive() ? '' : 'Its page could not be shown.';
}

/** Moves the focus to the row of the animal, if the page that is shown has it. */
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
  $('found-show').textContent = search ? 'Search on' : 'Show in the list';
  showText($('found-status'), outcome);
  announce(outcome);
}

/** Connects the form and what it finds. */
export function connectFind() {
  $('find').addEventListener('submit', (event) => {
    event.preventDefault();
    find();
  });
  $('find-id').addEventListener('input', () => showFindFault(''));
  onPress('found-show', () => ($('found-show').textContent === 'Stop' ? running?.abort() : locate()));
  onPress('found-copy', () => copy(found.json, 'The animal'));
  onPress('found-close', () => {
    close();
    $('find-id').focus();
  });
  onKeyGone(() => {
    close();
    $('find').reset();
    showFindFault('');
  });
}
