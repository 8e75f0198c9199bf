// The place in the list, kept in the address so that reload and the browser's back button work.
//
// The service has no filter for animals without a status. So with `status=none`, the script reads the unfiltered list
// and omits the other animals. `after` is then the id of the last animal that the previous page showed.

import { PETS, STATUSES } from './pets.js';

const LIMITS = [10, 20, 50, 100];
const DEFAULT_LIMIT = 20;
/** The number of pages that "Previous" can go back. */
const MAX_TRAIL = 200;

/**
 * Returns the place in the address. `reference` is the path and the query of the request to the service. With
 * `status=none`, `listWithoutStatus` derives its requests from the reference. `trail` lists the references of the
 * previous pages, oldest first. `page` is the number of the page, or `null` if it is unknown.
 */
export function placeOfAddress() {
  const query = new URLSearchParams(location.search);
  const status = [...STATUSES, 'none'].includes(query.get('status')) ? query.get('status') : '';
  const limit = LIMITS.includes(Number(query.get('limit'))) ? Number(query.get('limit')) : DEFAULT_LIMIT;
  const cursor = query.get('cursor');
  const after = status === 'none' && /^-?\d{1,19}$/.test(query.get('after')) ? query.get('after') : '';
  const begins = !cursor && !after;
  const { reference = referenceOf(status, limit, cursor, after), trail = [], page = begins ? 1 : null } = history.state ?? {};
  return { status, limit, reference, trail, page };
}

/** Returns the reference of a page. The first page has no cursor. */
export function referenceOf(status, limit, cursor, after) {
  const query = new URLSearchParams({ limit });
  for (const [name, value] of Object.entries({ status, cursor, after })) {
    if (value) query.set(name, value);
  }
  return `${PETS}?${query}`;
}

/** Returns the reference with the new values of `parameters`. An empty value removes its parameter. */
export function withQuery(reference, parameters) {
  const url = new URL(reference, location.origin);
  for (const [name, value] of Object.entries(parameters)) {
    if (value === '') url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  return url.pathname + url.search;
}

/** Returns a parameter of a reference, or `null`. */
export const parameterOf = (reference, name) => new URL(reference, location.origin).searchParams.get(name);

/** Writes another place to the address, with an entry in the browser's history. */
export function pushPlace(reference, trail, page) {
  const state = { reference, trail: trail.slice(-MAX_TRAIL), page };
  history.pushState(state, '', new URL(reference, location.origin).search);
}
