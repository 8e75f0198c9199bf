// Adds the animal in the form. Only one request runs at a time, so a double click adds one animal. An animal keeps its
// idempotency key until it is known whether it was added, so another attempt after a lost answer adds nothing twice.

import { $, announce, busy, capital, make, onPress, onSubmit, show, showFault, showText } from '../shared/dom.js';
import { isKeyRefused, leaveIfRefused, onKeyGone } from '../shared/key.js';
import { explain, Refusal } from '../shared/service.js';
import { countAdded } from './counts.js';
import { showInList } from './find.js';
import { load, mark } from './list.js';
import { askForPet, bodyOf, detailsOf, isWhole, PETS } from './pets.js';

const FIELDS = ['name', 'categoryId', 'status'];

/** The largest number of remembered animals with an unknown outcome. */
const MAX_OPEN = 20;

/** The controller of the current request. */
let sending = null;
/** The animals with an unknown outcome, by their JSON: name, idempotency key, and whether an answer was lost. */
const open = new Map();
/** `true` if the form is empty because its animal was added. */
let isEmptied = false;
/** The last added animal. */
let added = null;

async function submit() {
  // A second Enter or a double click does not add another animal.
  if (sending) return;
  if (isEmptied) {
    $('name').focus();
    return announce($('added').textContent);
  }
  clearAdded();
  const pet = readForm();
  const faults = obviousFaults(pet);
  if (Object.keys(faults).length > 0) return showFaults(faults);
  clearFaults();
  const body = bodyOf(pet);
  sending = new AbortController();
  busy($('add-send'), true, 'Adding…');
  try {
    await send(body, pet.name, sending.signal);
  } finally {
    sending = null;
    busy($('add-send'), false, 'Add');
  }
}

async function send(body, name, signal) {
  const submission = open.get(body) ?? { name, key: randomKey(), isLost: false };
  open.set(body, submission);
  if (open.size > MAX_OPEN) open.delete(open.keys().next().value);
  const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': submission.key };
  try {
    const { pet, headers: answered } = await askForPet(PETS, { method: 'POST', headers, body, signal });
    open.delete(body);
    showAdded(pet, answered.has('Idempotency-Replayed'), body);
  } catch (failure) {
    if (signal.aborted) return;
    settle(submission, body, failure);
    if (!leaveIfRefused(failure)) showRefusal(failure, name, body);
  }
}

/**
 * Updates `open` after a failure. A refusal with a status below 500 means that the animal was not added. But a refused
 * API key means nothing if an earlier answer was lost.
 */
function settle(submission, body, failure) {
  const isDecided = failure instanceof Refusal && failure.status < 500;
  if (!isDecided) submission.isLost = true;
  else if (!isKeyRefused(failure) || !submission.isLost) open.delete(body);
}

/** Returns 16 random bytes in hexadecimal. `crypto.randomUUID` is missing on a page without TLS. */
const randomKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** Returns the animal in the form. */
const readForm = () => ({
  name: $('name').value, categoryId: $('categoryId').value.trim(), status: $('status').value,
});

/** Returns whether the focus is in the form or nowhere. */
const hasFocus = () => document.activeElement === document.body || $('add').contains(document.activeElement);

/** Returns the errors that can be found without a request. The service checks the other rules. */
function obviousFaults({ name, categoryId }) {
  const faults = {};
  if (name === '') faults.name = 'Enter a name.';
  if (categoryId === '') faults.categoryId = 'Enter the id of a category.';
  else if (!isWhole(categoryId)) faults.categoryId = 'Enter a whole number in plain digits, such as 7.';
  return faults;
}

/** Splits a message of the service, "`name`: is required; `status`: …", by field. */
function faultsOf(message) {
  const faults = {};
  const rest = [];
  for (const part of message.split(/; (?=`[^`]*`: )/)) {
    const [, field, text] = /^`([^`]*)`: (.*)$/s.exec(part) ?? [];
    if (!FIELDS.includes(field)) rest.push(part);
    else faults[field] = `${faults[field] ?? ''} ${capital(text)}.`.trim();
  }
  return { faults, rest: rest.join('; ') };
}

/** Shows each error at its field, and `rest` or a summary above the fields. */
function showFaults(faults, rest = '') {
  for (const field of FIELDS) showFaultOf(field, faults[field] ?? '');
  const bad = FIELDS.filter((field) => faults[field]);
  const count = bad.length === 1 ? 'one field needs' : `${bad.length} fields need`;
  showText($('add-failure'), rest || `Not added: ${count} a change.`);
  if (bad.length > 0 && hasFocus()) $(bad[0]).focus();
}

/** Removes all errors. */
function clearFaults() {
  for (const field of FIELDS) showFaultOf(field, '');
  show($('add-failure'), false);
}

const showFaultOf = (field, text) => showFault($(field), $(`${field}-error`), text);

/** Returns whether the form still contains the animal that was sent. */
const isUnchanged = (body) => bodyOf(readForm()) === body;

function showAdded(pet, isReplayed, body) {
  added = pet;
  mark(pet.id);
  $('added').replaceChildren(
    isReplayed ? 'Already added by an earlier attempt: ' : 'Added ',
    make('bdi', {}, pet.name),
    ` (${detailsOf(pet)}).${openText()}`,
  );
  show($('added-show'), true);
  if (isUnchanged(body)) {
    $('add').reset();
    isEmptied = true;
    if (hasFocus()) $('name').focus();
  }
  countAdded(pet);
  load();
}

/** Returns a sentence about earlier animals with an unknown outcome, to append to a message. */
function openText() {
  const names = [...open.values()].map(({ name }) => `“${name}”`);
  return names.length === 0 ? '' : ` It is still not known whether ${names.join(' and ')} was added.`;
}

function showRefusal(failure, name, body) {
  if (!(failure instanceof Refusal) || failure.status >= 500) {
    return showFaults({}, `${explain(failure)} It is not known whether “${name}” was added. Press “Add” again: it is not added twice.`);
  }
  if (!isUnchanged(body)) return showFaults({}, `“${name}” was not added. ${explain(failure)}`);
  if (failure.code !== 'invalid_pet') return showFaults({}, explain(failure));
  const { faults, rest } = faultsOf(failure.message);
  showFaults(faults, rest && `The service refused: ${rest}.`);
}

function clearAdded() {
  added = null;
  $('added').replaceChildren();
  show($('added-show'), false);
}

/** Removes all messages when the key is gone. Empties the fields only if the user has forgotten the key. */
function clear(reason) {
  clearAdded();
  clearFaults();
  if (reason === '') $('add').reset();
  isEmptied = false;
  // Under another API key, a repeat would add a second animal.
  const text = reason && openText();
  open.clear();
  sending?.abort();
  if (text) showText($('add-failure'), `${text.trim()} Look for it in the list before you add it with another key.`);
}

/** Adds the listeners of the form. */
export function connectAdd() {
  onSubmit('add', submit);
  $('add').addEventListener('input', ({ target }) => {
    isEmptied = false;
    showFaultOf(target.id, '');
  });
  onPress($('added-show'), () => showInList(added));
  onKeyGone(clear);
}
