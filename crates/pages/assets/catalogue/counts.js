// The counts by status. The interface has no totals, so counting reads the list, only on demand.

import { $, announce, make, onPress, show, showText } from '../shared/dom.js';
import { leaveIfRefused, onKeyGone } from '../shared/key.js';
import { explain } from '../shared/service.js';
import { animals, format, isAtMost, labelOf, MAX_LIMIT, MAX_PAGES, PETS, statusOf, timeOfDay, walk } from './pets.js';

/** The text before the first count. */
const IDLE = 'Not counted yet. A count reads the list from its start.';

/** The last counts (see `newTally`), or `null`. */
let tally = null;
/** The controller of the running count. */
let running = null;
/** The animals that were added during a count. */
let addedMeanwhile = [];

/**
 * Returns empty counts. `last` is the highest id so far, and `next` is the next page, or `null` at the end of the list.
 * `added` is the number of animals that the form has added since the count reached the end of the list.
 */
const newTally = () => ({
  totals: { available: 0, pending: 0, sold: 0, none: 0 }, seen: 0, last: null,
  next: `${PETS}?limit=${MAX_LIMIT}`, time: timeOfDay(), added: 0,
});

function include(counts, pet) {
  counts.totals[statusOf(pet)] += 1;
  counts.seen += 1;
  counts.last = pet.id;
}

/** Counts an animal that the form has added, without a request. */
export function countAdded(pet) {
  if (running) addedMeanwhile.push(pet);
  if (tally === null || !includeAdded(tally, pet)) return;
  drawBars(tally);
  if (!running) showText($('count-status'), describe());
}

/** Adds an animal to `counts` if they reach the end of the list and do not include the animal yet. */
function includeAdded(counts, pet) {
  if (counts.next !== null || (counts.last !== null && isAtMost(pet.id, counts.last))) return false;
  include(counts, pet);
  counts.added += 1;
  return true;
}

/** Counts from the start, or continues the last count. */
async function count(continues) {
  const mine = (running = new AbortController());
  const counts = continues ? tally : newTally();
  // A new count replaces the last one only when its pages are read without a failure or a stop.
  if (tally === null) tally = counts;
  addedMeanwhile = [];
  showState(progress(counts));
  let stopped = '';
  let failure = '';
  try {
    await walk(counts.next, MAX_PAGES, { signal: mine.signal, priority: 'low' }, (page) => {
      for (const pet of page.pets) include(counts, pet);
      counts.next = page.next;
      if (counts === tally) drawBars(counts);
      showText($('count-status'), progress(counts));
    });
    tally = counts;
    for (const pet of addedMeanwhile) includeAdded(tally, pet);
  } catch (thrown) {
    if (running !== mine || leaveIfRefused(thrown)) return;
    if (mine.signal.aborted) stopped = `Stopped after ${animals(counts.seen)}. `;
    else failure = `Not counted. ${explain(thrown)}`;
  }
  running = null;
  if (tally.seen === 0 && tally.next !== null) tally = null;
  finish(stopped, failure);
}

/** Shows the current counts. */
function finish(stopped, failure) {
  if (tally) drawBars(tally);
  showState(stopped + (tally ? describe() : failure ? '' : IDLE), failure);
  announce(failure || $('count-status').textContent);
}

const progress = (counts) => `Counting… ${animals(counts.seen)} so far`;

/** Returns the caption of the counts: "120 animals in all, counted at 12:03:21". */
function describe() {
  if (tally.next !== null) return `At least ${animals(tally.seen)}, counted up to id ${tally.last} at ${tally.time}`;
  const since = tally.added ? `, ${tally.added} added here since` : '';
  return `${animals(tally.seen)} in all, counted at ${tally.time}${since}`;
}

function showState(status, failure = '') {
  showText($('count-status'), status);
  showText($('count-failure'), failure);
  $('count').textContent = running ? 'Stop' : tally ? 'Count again' : 'Count';
  show($('count-on'), !running && tally !== null && tally.next !== null);
}

function clear() {
  running?.abort();
  running = null;
  tally = null;
  $('bars').replaceChildren();
  showState(IDLE);
}

/** Shows a bar per status. */
function drawBars({ totals, seen }) {
  $('bars').replaceChildren(...Object.entries(totals).map(([status, total]) => barOf(status, total, seen)));
}

function barOf(status, total, seen) {
  const share = seen === 0 ? 0 : (100 * total) / seen;
  // A small share must not look like none.
  const percent = share > 0 && share < 1 ? '< 1' : Math.round(share);
  const bar = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  bar.append(document.createElementNS('http://www.w3.org/2000/svg', 'rect'));
  bar.ariaHidden = 'true';
  bar.firstChild.classList.add(status);
  bar.firstChild.setAttribute('width', `${share}%`);
  return make('li', {}, make('span', {}, labelOf(status)),
    make('span', { class: 'value' }, format(total), make('span', { class: 'share' }, `${percent} %`)), bar);
}

/** Adds the listeners of the buttons. */
export function connectCounts() {
  showState(IDLE);
  onPress($('count'), () => (running ? running.abort() : count(false)));
  onPress($('count-on'), () => {
    // Hiding the button would lose the focus.
    $('count').focus();
    count(true);
  });
  onKeyGone(clear);
}
