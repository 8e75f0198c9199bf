// The counts by status. The interface has no totals, so counting reads the list, and only on demand.

import { $, announce, make, onPress, show, showText } from '../shared/dom.js';
import { leaveIfRefused, onKeyGone } from '../shared/key.js';
import { explain } from '../shared/service.js';
import { animals, format, isAtMost, labelOf, MAX_LIMIT, MAX_PAGES, PETS, statusOf, timeOfDay, walk } from './pets.js';

/** What is said before the first count. */
const IDLE = 'Not counted yet. A count reads the list from its start.';

/** The last counts, or `null`; see `newTally`. */
let tally = null;
/** The count that is running. */
let running = null;
/** The animals added while a count was running. */
let addedMeanwhile = [];

/** `last`: the highest id counted. `next`: where to go on, `null` at the end. `added`: counted since. */
const newTally = () => ({
  totals: { available: 0, pending: 0, sold: 0, none: 0 }, seen: 0, last: null,
  next: `${PETS}?limit=${MAX_LIMIT}`, time: timeOfDay(), added: 0,
});

function include(counts, pet) {
  counts.totals[statusOf(pet)] += 1;
  counts.seen += 1;
  counts.last = pet.id;
}

/** Counts an animal that this page has added, without asking the service. */
export function countAdded(pet) {
  if (running) addedMeanwhile.push(pet);
  if (tally === null || !includeAdded(tally, pet)) return;
  drawBars(tally);
  if (!running) showText($('count-status'), describe());
}

/** Includes an added animal if `counts` reach the end of the list and do not have it yet. */
function includeAdded(counts, pet) {
  if (counts.next !== null || (counts.last !== null && isAtMost(pet.id, counts.last))) return false;
  include(counts, pet);
  counts.added += 1;
  return true;
}

/** Counts from the start, or goes on where the last count ended. */
async function count(isGoingOn) {
  const mine = (running = new AbortController());
  const counts = isGoingOn ? tally : newTally();
  // A new count takes the place of the last one at its end, so that a failure loses nothing.
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

/** Shows what the counts are now: the new ones, or still those of before. */
function finish(stopped, failure) {
  if (tally) drawBars(tally);
  showState(stopped + (tally ? describe() : failure ? '' : IDLE), failure);
  announce(failure || $('count-status').textContent);
}

const progress = (counts) => `Counting… ${animals(counts.seen)} so far`;

/** What the counts are of: "120 animals in all, counted at 12:03:21". */
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

/** Shows a bar for each status. */
function drawBars({ totals, seen }) {
  $('bars').replaceChildren(...Object.entries(totals).map(([status, total]) => barOf(status, total, seen)));
}

function barOf(status, total, seen) {
  const share = seen === 0 ? 0 : (100 * total) / seen;
  // A few among thousands are not none.
  const percent = share > 0 && share < 1 ? '< 1' : Math.round(share);
  const bar = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  bar.append(document.createElementNS('http://www.w3.org/2000/svg', 'rect'));
  bar.ariaHidden = 'true';
  bar.firstChild.classList.add(status);
  bar.firstChild.setAttribute('width', `${share}%`);
  return make('li', {}, make('span', {}, labelOf(status)),
    make('span', { class: 'value' }, format(total), make('span', { class: 'share' }, `${percent} %`)), bar);
}

/** Connects the buttons of the counts. */
export function connectCounts() {
  showState(IDLE);
  onPress($('count'), () => (running ? running.abort() : count(false)));
  onPress($('count-on'), () => {
    // The button goes, and with it the focus.
    $('count').focus();
    count(true);
  });
  onKeyGone(clear);
}
