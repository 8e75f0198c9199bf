// What an animal looks like, and what the form's animal is as JSON.

import { make } from '../docs/shared/dom.js';

/** The statuses of the interface. */
export const STATUSES = ['available', 'pending', 'sold'];

const LABELS = { available: 'Available', pending: 'Pending', sold: 'Sold', none: 'No status' };

/** The status of an animal, or `none`. */
export const statusOf = (pet) => (STATUSES.includes(pet.status) ? pet.status : 'none');

/** What a status, or `none`, is called. */
export const labelOf = (status) => LABELS[status];

/** A status as a small coloured label. */
export function pill(pet) {
  const status = statusOf(pet);
  return make('span', { class: `pill ${status}` }, labelOf(status));
}

/** An animal in words, without its name: "id 4, category 7, sold". */
export function detailsOf(pet) {
  const status = pet.status ? `, ${labelOf(statusOf(pet)).toLowerCase()}` : '';
  return `id ${pet.id}, category ${pet.categoryId}${status}`;
}

/** Whether `id` and `other`, strings of digits, stand in this order or are equal. */
export const isAtMost = (id, other) => BigInt(id) <= BigInt(other);

/** A new animal as JSON, in which the category keeps its digits. */
export function bodyOf({ name, categoryId, status }) {
  const members = [`"name":${JSON.stringify(name)}`, `"categoryId":${categoryId}`];
  if (status) members.push(`"status":${JSON.stringify(status)}`);
  return `{${members.join(',')}}`;
}
