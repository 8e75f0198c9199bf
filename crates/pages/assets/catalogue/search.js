// Looks for the page of the list on which an animal stands. A cursor is the service's secret, so the
// only way there is along the links: in pages of 100, and then in pages as the reader wants them.

import { MAX_LIMIT, walk } from './api.js';
import { isAtMost } from './pet.js';
import { referenceOf, withLimit } from './place.js';

/** Pages of 100 animals that one step reads at most. */
const MAX_PAGES = 50;

/** A search for `id` from the page that is shown if the animal comes later, else from the first. */
export function newSearch(id, status, limit, shown) {
  const last = shown?.pets.at(-1);
  const isLater = last !== undefined && shown.next !== null && shown.place.status === status
    && shown.place.limit === limit && !isAtMost(id, last.id);
  const start = isLater
    ? { next: shown.next, page: shown.place.page && shown.place.page + 1 }
    : { next: referenceOf(status, limit), page: 1 };
  return { ...start, id, limit, seen: 0, reached: null };
}

/**
 * Goes on with a search: the place of the animal, or `null`. Then `search.next` is where to go on, or
 * `null` if the list does not have the animal. `progress` runs after each page.
 */
export async function searchOn(search, signal, progress) {
  let block = null;
  const take = ({ pets, next }, reference) => {
    if (pets.some((pet) => pet.id === search.id)) {
      block = reference;
      return true;
    }
    search.seen += pets.length;
    search.reached = pets.at(-1)?.id ?? search.reached;
    search.next = search.reached !== null && isAtMost(search.id, search.reached) ? null : next;
    progress();
    return search.next === null;
  };
  await walk(search.next && withLimit(search.next, MAX_LIMIT), MAX_PAGES, { signal }, take);
  return block && placeIn(block, search, signal);
}

/** The place of the animal in a page of 100 that has it. */
async function placeIn(block, { id, limit, page, seen }, signal) {
  const trail = [];
  let place = null;
  const take = ({ pets }, reference) => {
    if (pets.some((pet) => pet.id === id)) place = reference;
    else trail.push(reference);
    return place !== null;
  };
  await walk(withLimit(block, limit), MAX_LIMIT / limit, { signal }, take);
  return place && { reference: place, trail, page: page && page + seen / limit + trail.length };
}
