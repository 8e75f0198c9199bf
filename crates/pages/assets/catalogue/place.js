// Which page of the list is shown: kept in the address, so that reload and the browser's back work.

import { PETS } from './api.js';
import { STATUSES } from './pet.js';

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
  const status = STATUSES.includes(query.get('status')) ? query.get('status') : '';
  const limit = LIMITS.includes(Number(query.get('limit'))) ? Number(query.get('limit')) : DEFAULT_LIMIT;
  const cursor = query.get('cursor');
  const { reference = referenceOf(status, limit, cursor), trail = [], page = cursor ? null : 1 } = history.state ?? {};
  return { status, limit, reference, trail, page };
}

/** The reference of a page: the first one without a cursor. */
export function referenceOf(status, limit, cursor) {
  const query = new URLSearchParams({ limit });
  if (status) query.set('status', status);
  if (cursor) query.set('cursor', cursor);
  return `${PETS}?${query}`;
}

/** The same reference with another limit, which may change between pages. */
export function withLimit(reference, limit) {
  const url = new URL(reference, location.origin);
  url.searchParams.set('limit', limit);
  return url.pathname + url.search;
}

/** Puts another place into the address, as a step that the browser's back undoes. */
export function pushPlace(reference, trail, page) {
  const state = { reference, trail: trail.slice(-MAX_TRAIL), page };
  history.pushState(state, '', new URL(reference, location.origin).search);
}
