// The catalogue page: lists, counts and adds animals through the public interface, like any client.
// An int64 does not fit into a number of JavaScript, so ids and categories are strings of digits.

const PETS = '/v1/pets';
const STATUSES = ['available', 'pending', 'sold'];
const LABELS = { available: 'Available', pending: 'Pending', sold: 'Sold', none: 'No status' };
const FIELDS = ['name', 'categoryId', 'status'];
const LIMITS = [10, 20, 50, 100];
const DEFAULT_LIMIT = 20;
/** Pages of 100 animals that one count reads at most. */
const COUNTED_PAGES = 50;
/** How many pages back "Previous" reaches. */
const LONGEST_TRAIL = 200;
/** Milliseconds until a request is given up: longer than the service lets one take. */
const PATIENCE = 40_000;
const KEY_ITEM = 'petstore.key';

const $ = (id) => document.getElementById(id);
const format = new Intl.NumberFormat('en').format;

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function show(element, shown) {
  element.hidden = !shown;
}

const animals = (count) => `${format(count)} ${count === 1 ? 'animal' : 'animals'}`;

// ---- The service -------------------------------------------------------------------------------

/** An answer of the service that is an error. */
class Refusal extends Error {
  constructor(response, body) {
    const known = body !== null && typeof body === 'object' && typeof body.message === 'string';
    super(known ? body.message : `the answer is ${response.status} ${response.statusText}`.trim());
    this.status = response.status;
    this.code = known ? body.code : '';
    this.requestId = response.headers.get('X-Request-Id');
    this.retryAfter = response.headers.get('Retry-After');
  }
}

/** No answer came, or none that this interface has. */
class Unreachable extends Error {}

/** Reads JSON, with every number as the text it was written as. */
function parseExactly(text) {
  const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  return JSON.parse(text.replace(tokens, (token) => (token[0] === '"' ? token : `"${token}"`)));
}

/** Sends one request: the answer's headers and body. Throws `Refusal`, `Unreachable` or the abort. */
async function call(reference, { key = storedKey(), signal, headers = {}, ...options } = {}) {
  const patience = AbortSignal.timeout(PATIENCE);
  let response, text;
  try {
    response = await fetch(reference, {
      ...options,
      headers: { ...headers, Authorization: `Bearer ${key}` },
      signal: signal ? AbortSignal.any([signal, patience]) : patience,
    });
    text = await response.text();
  } catch {
    signal?.throwIfAborted();
    throw new Unreachable('The service did not answer. Is it running, and is the network up?');
  }
  let body = null;
  try {
    body = parseExactly(text);
  } catch {
    if (response.ok) throw new Unreachable('The answer is not JSON. Is something between this page and the service?');
  }
  if (!response.ok) throw new Refusal(response, body);
  return { headers: response.headers, body };
}

/** One page of animals, and the reference to the next one if there is one. */
async function list(reference, options) {
  const { headers, body } = await call(reference, options);
  const link = /<([^>]*)>\s*;\s*rel="?next"?/.exec(headers.get('Link') ?? '')?.[1];
  if (link === undefined) return { pets: body, next: null };
  const next = new URL(link, location.origin);
  // The key goes to no other host, whatever the header says.
  if (next.origin !== location.origin) throw new Unreachable(`The link to the next page leads to ${next.origin}.`);
  return { pets: body, next: next.pathname + next.search };
}

/** What to tell about a failure, in one text. */
function explain(failure) {
  if (!(failure instanceof Refusal)) return failure.message;
  const wait = failure.retryAfter ? ` Try again in ${failure.retryAfter} s.` : '';
  const id = failure.requestId ? ` (request ${failure.requestId})` : '';
  return `The service refused: ${failure.message}.${wait}${failure.status >= 500 ? id : ''}`;
}

// ---- The key -----------------------------------------------------------------------------------

/** The storage of this tab; where the browser forbids it, the key lasts as long as the page. */
const storage = (() => {
  try {
    sessionStorage.getItem(KEY_ITEM);
    return sessionStorage;
  } catch {
    const items = new Map();
    return { getItem: (name) => items.get(name), setItem: (...item) => items.set(...item), removeItem: (name) => items.delete(name) };
  }
})();

const storedKey = () => storage.getItem(KEY_ITEM) ?? '';

function keyFault(text) {
  $('key-error').textContent = text;
  show($('key-error'), text !== '');
  $('key').setAttribute('aria-invalid', String(text !== ''));
}

/** Asks for a key, and leaves nothing on the page that the last one showed. */
function askForKey(fault = '') {
  storage.removeItem(KEY_ITEM);
  for (const request of [loading, counting, adding]) request?.abort();
  loading = counting = null;
  $('rows').replaceChildren();
  $('added').replaceChildren();
  $('bars').replaceChildren();
  $('add').reset();
  clearFaults();
  attempt = null;
  drawn = null;
  show($('catalogue'), false);
  show($('forget'), false);
  show($('entrance'), true);
  keyFault(fault);
  $('key').focus();
}

async function tryKey(event) {
  event.preventDefault();
  if ($('key-send').getAttribute('aria-disabled') === 'true') return;
  const key = $('key').value.trim();
  if (key === '') return refuseKey('Enter an API key.');
  if (!/^[\x21-\x7e]+$/.test(key)) return refuseKey('An API key has no spaces and no characters beyond ASCII.');
  $('key-send').setAttribute('aria-disabled', 'true');
  try {
    await call(`${PETS}?limit=1`, { key });
  } catch (failure) {
    const refused = failure instanceof Refusal && failure.status === 401;
    return refuseKey(refused ? `The service does not take this key: ${failure.message}.` : explain(failure));
  } finally {
    $('key-send').removeAttribute('aria-disabled');
  }
  storage.setItem(KEY_ITEM, key);
  $('key').value = '';
  revealKey(false);
  keyFault('');
  openCatalogue();
  $('list-title').focus();
}

function refuseKey(fault) {
  keyFault(fault);
  $('key').focus();
}

function revealKey(revealed) {
  $('key').type = revealed ? 'text' : 'password';
  $('key-show').setAttribute('aria-pressed', String(revealed));
  $('key-show').textContent = revealed ? 'Hide' : 'Show';
}

/** Whether `failure` was the key's fault, which leads back to the key form. */
function wasTheKey(failure) {
  const it = failure instanceof Refusal && failure.status === 401;
  if (it) askForKey(`The service no longer takes the key: ${failure.message}.`);
  return it;
}

// ---- The list ----------------------------------------------------------------------------------

/** What is shown: kept in the address of the page, so that reload and the browser's back work. */
let place;
let next = null;
let loading = null;
/** Id of the animal added last. */
let newest = null;

/** The place that the address names. `trail`: references of the pages before, oldest first. */
function placeOfAddress() {
  const query = new URLSearchParams(location.search);
  const status = STATUSES.includes(query.get('status')) ? query.get('status') : '';
  const limit = LIMITS.includes(Number(query.get('limit'))) ? Number(query.get('limit')) : DEFAULT_LIMIT;
  const cursor = query.get('cursor');
  const { reference = referenceOf(status, limit, cursor), trail = [], page = cursor ? null : 1 } = history.state ?? {};
  return { status, limit, reference, trail, page };
}

function referenceOf(status, limit, cursor) {
  const query = new URLSearchParams({ limit });
  if (status) query.set('status', status);
  if (cursor) query.set('cursor', cursor);
  return `${PETS}?${query}`;
}

/** Goes to another place, as a step that the browser's back undoes. */
function go(reference, trail, page) {
  history.pushState({ reference, trail: trail.slice(-LONGEST_TRAIL), page }, '', new URL(reference, location.origin).search);
  place = placeOfAddress();
  return load();
}

const goFirst = (status = place.status, limit = place.limit) => go(referenceOf(status, limit), [], 1);
const goNext = () => go(next, [...place.trail, place.reference], place.page && place.page + 1);
const goPrevious = () => go(place.trail.at(-1), place.trail.slice(0, -1), place.page && place.page - 1);

/** Reads and shows the page of the list at `place`. What a newer call has overtaken is dropped. */
async function load() {
  loading?.abort();
  const mine = (loading = new AbortController());
  const slow = setTimeout(() => ($('list-status').textContent = 'Loading…'), 250);
  $('animals').setAttribute('aria-busy', 'true');
  showControls();
  try {
    const page = await list(place.reference, { signal: mine.signal });
    mine.signal.throwIfAborted();
    next = page.next;
    showPage(page.pets);
  } catch (failure) {
    if (mine.signal.aborted || wasTheKey(failure)) return;
    next = null;
    showFailure(failure);
  } finally {
    clearTimeout(slow);
    if (loading === mine) {
      $('animals').setAttribute('aria-busy', 'false');
      showControls();
    }
  }
}

function showControls() {
  for (const radio of $('filter').elements.status) radio.checked = radio.value === place.status;
  $('limit').value = String(place.limit);
  const busy = $('animals').getAttribute('aria-busy') === 'true';
  enable($('first'), place.page !== 1);
  enable($('previous'), place.trail.length > 0);
  enable($('next'), !busy && next !== null);
  $('page').textContent = place.page ? `Page ${format(place.page)}` : 'A later page';
}

/** A button that cannot be used keeps its focus. */
function enable(button, enabled) {
  button.setAttribute('aria-disabled', String(!enabled));
}

function showPage(pets) {
  $('rows').replaceChildren(...pets.map(rowOf));
  show($('animals'), pets.length > 0);
  show($('empty'), pets.length === 0);
  show($('list-failure'), false);
  show($('show-all'), place.status !== '');
  const kind = place.status ? ` with the status ${LABELS[place.status].toLowerCase()}` : '';
  $('empty-text').textContent = kind ? `There is no animal${kind}.` : 'There is no animal yet. Add the first one.';
  const where = next !== null || place.page !== 1 ? `, ${place.page ? `page ${format(place.page)}` : 'a later page'}` : '';
  $('list-status').textContent = `${animals(pets.length)} shown${where}`;
}

function showFailure(failure) {
  $('rows').replaceChildren();
  show($('animals'), false);
  show($('empty'), false);
  const stale = failure instanceof Refusal && failure.code === 'invalid_query';
  $('list-failure-text').textContent = explain(failure);
  $('list-retry').textContent = stale ? 'Start from the first page' : 'Try again';
  $('list-retry').onclick = () => fromList(stale ? goFirst : load);
  show($('list-failure'), true);
  $('list-status').textContent = '';
}

function rowOf(pet) {
  const status = STATUSES.includes(pet.status) ? pet.status : 'none';
  const row = make(
    'tr', { role: 'row' },
    make('td', { role: 'cell', class: 'number', 'data-label': 'id' }, pet.id),
    make('th', { role: 'rowheader', scope: 'row' }, make('bdi', {}, pet.name)),
    make('td', { role: 'cell', class: 'number', 'data-label': 'category' }, pet.categoryId),
    make('td', { role: 'cell' }, make('span', { class: `pill ${status}` }, LABELS[status])),
  );
  if (pet.id === newest) row.className = 'new';
  return row;
}

// ---- Adding ------------------------------------------------------------------------------------

let adding = null;
/** The body last sent and its idempotency key, while it is not known whether it was taken. */
let attempt = null;

/** The body as JSON text, in which the category keeps its digits. */
function bodyOf({ name, categoryId, status }) {
  const members = [`"name":${JSON.stringify(name)}`, `"categoryId":${categoryId}`];
  if (status) members.push(`"status":${JSON.stringify(status)}`);
  return `{${members.join(',')}}`;
}

/** What can be told without the service; the rules themselves are the service's. */
function obviousFaults({ name, categoryId }) {
  const faults = {};
  if (name === '') faults.name = 'Enter a name.';
  if (categoryId === '') faults.categoryId = 'Enter the id of a category.';
  else if (!/^-?(0|[1-9]\d*)$/.test(categoryId)) faults.categoryId = 'Enter a whole number in plain digits, such as 7.';
  return faults;
}

/** Sorts a message of the service, "`name`: is required; `status`: …", by the fields it names. */
function faultsOf(message) {
  const faults = {};
  const rest = [];
  for (const part of message.split(/; (?=`[^`]*`: )/)) {
    const [, field, text] = /^`([^`]*)`: (.*)$/s.exec(part) ?? [];
    if (!FIELDS.includes(field)) rest.push(part);
    else faults[field] = faults[field] ? `${faults[field]}; ${text}` : text[0].toUpperCase() + text.slice(1);
  }
  return { faults, rest: rest.join('; ') };
}

function showFaults(faults, rest = '') {
  for (const field of FIELDS) showFault(field, faults[field] ?? '');
  const bad = FIELDS.filter((field) => faults[field]);
  const count = bad.length === 1 ? 'one field needs' : `${bad.length} fields need`;
  $('add-failure').textContent = rest || `Not added: ${count} a change.`;
  show($('add-failure'), true);
  if (bad.length > 0) $(bad[0]).focus();
}

function showFault(field, text) {
  $(`${field}-error`).textContent = text;
  show($(`${field}-error`), text !== '');
  $(field).setAttribute('aria-invalid', String(text !== ''));
}

function clearFaults() {
  for (const field of FIELDS) showFault(field, '');
  show($('add-failure'), false);
}

async function add(event) {
  event.preventDefault();
  if (adding) return;
  const pet = { name: $('name').value, categoryId: $('categoryId').value.trim(), status: $('status').value };
  const faults = obviousFaults(pet);
  $('added').replaceChildren();
  if (Object.keys(faults).length > 0) return showFaults(faults);
  clearFaults();
  const body = bodyOf(pet);
  if (attempt?.body !== body) attempt = { body, key: randomKey() };
  const mine = (adding = new AbortController());
  enable($('add-send'), false);
  $('add-send').textContent = 'Adding…';
  try {
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': attempt.key };
    const answer = await call(PETS, { method: 'POST', headers, body, signal: mine.signal });
    attempt = null;
    showAdded(answer.body, answer.headers.has('Idempotency-Replayed'));
  } catch (failure) {
    if (!mine.signal.aborted && !wasTheKey(failure)) showRefusal(failure);
  } finally {
    adding = null;
    enable($('add-send'), true);
    $('add-send').textContent = 'Add';
  }
}

/** `crypto.randomUUID` is missing where the page does not come over TLS. */
function randomKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function showAdded(pet, replayed) {
  newest = pet.id;
  const status = pet.status ? `, ${LABELS[pet.status].toLowerCase()}` : '';
  $('added').replaceChildren(
    replayed ? 'Was added by the try before: ' : 'Added ',
    make('bdi', {}, pet.name),
    ` (id ${pet.id}, category ${pet.categoryId}${status}).`,
  );
  $('add').reset();
  $('name').focus();
  load();
  count();
}

function showRefusal(failure) {
  if (failure instanceof Refusal && failure.status < 500) {
    // The service has judged this animal: the next try is another attempt.
    attempt = null;
    if (failure.code === 'invalid_pet') {
      const { faults, rest } = faultsOf(failure.message);
      return showFaults(faults, rest && `The service refused: ${rest}.`);
    }
    return showFaults({}, explain(failure));
  }
  showFaults({}, `${explain(failure)} It is not known whether the animal was added. Press “Add” again: it is not added twice.`);
}

// ---- Counting ----------------------------------------------------------------------------------

let counting = null;
/** How many animals the bars stand for; `null` if there are none. */
let drawn = null;

/** Counts by status, page by page in the background: the interface has no totals. */
async function count() {
  counting?.abort();
  const mine = (counting = new AbortController());
  const totals = { available: 0, pending: 0, sold: 0, none: 0 };
  let seen = 0;
  let reference = `${PETS}?limit=100`;
  $('count').textContent = 'Stop';
  let outcome;
  try {
    for (let pages = 0; reference && pages < COUNTED_PAGES; pages += 1) {
      const page = await list(reference, { signal: mine.signal, priority: 'low' });
      for (const pet of page.pets) totals[STATUSES.includes(pet.status) ? pet.status : 'none'] += 1;
      seen += page.pets.length;
      reference = page.next;
      // While it counts anew, the bars stay as they are until it has seen as many as before.
      if (seen >= (drawn ?? 0)) drawBars(totals, seen);
      $('count-status').textContent = `Counting… ${animals(seen)} so far`;
    }
    outcome = reference ? `Of the first ${animals(seen)}` : `${animals(seen)} in all`;
  } catch (failure) {
    if (counting !== mine || wasTheKey(failure)) return;
    outcome = mine.signal.aborted ? `Stopped after ${animals(seen)}` : `Ended after ${animals(seen)}. ${explain(failure)}`;
  }
  counting = null;
  drawBars(totals, seen);
  $('count-status').textContent = outcome;
  $('count').textContent = 'Count again';
}

function drawBars(totals, seen) {
  drawn = seen;
  $('bars').replaceChildren(...Object.entries(totals).map(([status, total]) => barOf(status, total, seen)));
}

function barOf(status, total, seen) {
  const share = seen === 0 ? 0 : (100 * total) / seen;
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const bar = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  svg.setAttribute('aria-hidden', 'true');
  bar.setAttribute('class', status);
  bar.setAttribute('width', `${share}%`);
  bar.setAttribute('height', '100%');
  svg.append(bar);
  const value = make('span', { class: 'value' }, format(total));
  value.append(make('span', { class: 'share' }, `${percent(share)} %`));
  return make('li', {}, make('span', {}, LABELS[status]), value, svg);
}

/** A few among thousands are not none. */
const percent = (share) => (share > 0 && share < 1 ? '< 1' : String(Math.round(share)));

// ---- The page ----------------------------------------------------------------------------------

function openCatalogue() {
  show($('entrance'), false);
  show($('catalogue'), true);
  show($('forget'), true);
  place = placeOfAddress();
  load().finally(() => storedKey() && count());
}

/** Runs `action` when `button` is pressed, unless it is disabled. */
function onPress(button, action) {
  $(button).addEventListener('click', () => $(button).getAttribute('aria-disabled') === 'true' || action());
}

/** Shows another page of the list from its top. */
function turn(step) {
  step();
  $('list-title').scrollIntoView({ block: 'nearest' });
}

/** Does what a button inside the list asks for, which may take the button away and the focus with it. */
function fromList(action) {
  action();
  $('list-title').focus();
}

$('key-form').addEventListener('submit', tryKey);
$('key').addEventListener('input', () => keyFault(''));
onPress('key-show', () => revealKey($('key').type === 'password'));
onPress('forget', () => askForKey());
onPress('refresh', load);
onPress('first', () => turn(goFirst));
onPress('previous', () => turn(goPrevious));
onPress('next', () => turn(goNext));
onPress('show-all', () => fromList(() => goFirst('')));
onPress('count', () => (counting ? counting.abort() : count()));
$('filter').addEventListener('submit', (event) => event.preventDefault());
$('filter').addEventListener('change', () => goFirst($('filter').elements.status.value, Number($('limit').value)));
$('add').addEventListener('submit', add);
// The second click of a double click would send the form that the first one has emptied.
$('add-send').addEventListener('click', (event) => event.detail > 1 && event.preventDefault());
for (const field of FIELDS) $(field).addEventListener('input', () => showFault(field, ''));
for (const link of document.querySelectorAll('[data-jump]')) {
  link.addEventListener('click', (event) => {
    // The address holds the place in the list: a jump leaves it alone.
    event.preventDefault();
    $(link.dataset.jump).focus();
    $(link.dataset.jump).scrollIntoView({ block: 'nearest' });
  });
}
addEventListener('popstate', () => {
  place = placeOfAddress();
  if (storedKey()) load();
});

if (storedKey()) openCatalogue();
else askForKey();
