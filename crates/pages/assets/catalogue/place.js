// Which page of the list is shown: kept in the address, so that reload and the browser's back work.
//
// The service has no filter for animals without a status. So `status=none` is a filter of this page, which follows
// the pages of the service; with it, `after` is the last animal that the page before has shown.

import { PETS, STATUSES } from './pets.js';

const LIMITS = [10, 20, 50, 100];
const DEFAULT_LIMIT = 20;
/** How many pages back "Previous" reaches. */
const MAX_TRAIL = 200;

/**
 * The place that the address names. `reference`: what the service is asked for. `trail`: references
 * of the pages before, oldest first. `page`: its number, `null` if that is not known.
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

/** The reference of a page: the first one without a cursor. */
export function referenceOf(status, limit, cursor, after) {
  const query = new URLSearchParams({ limit });
  for (const [name, value] of Object.entries({ status, cursor, after })) {
    if (value) query.set(name, value);
  }
  return `${PETS}?${query}`;
}

/** The same reference with other parameters; one that is empty is left out. */
export function withQuery(reference, parameters) {
  const url = new URL(reference, location.origin);
  for (const [name, value] of Object.entries(parameters)) {
    if (value === '') url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  return url.pathname + url.search;
}

/** The parameter of a reference with this name, or `null`. */
export const parameterOf = (reference, name) => new URL(reference, location.origin).searchParams.get(name);

/** Puts another place into the address, as a step that the browser's back undoes. */
export function pushPlace(reference, trail, page) {
  const state = { reference, trail: trail.slice(-MAX_TRAIL), page };
  history.pushState(state, '', new URL(reference, location.origin).search);
}
