// The reference page: fetches the OpenAPI document and shows it.

import { $, capital, make, ROOT, showText } from '../shared/dom.js';
import { connectKey, leaveIfRefused, onKeyGone } from '../shared/key.js';
import { call, explain } from '../shared/service.js';
import { isReadOnly, storedKey } from '../shared/stored.js';
import { groups, parseDocument } from './document.js';
import { commonErrors, errorText, fieldList, methodPill, operationSection, properties } from './operation.js';
import { BASE, sample } from './request.js';
import { blocks, inline } from './text.js';
import { clearAnswers } from './tryout.js';

/** The panel with the first request. */
const first = sample('The first request');
first.show({ method: 'GET', target: `${BASE}/pets`, headers: {} });

/** Shows the addresses of the service for calls that do not come from this page. */
function showServers(servers = []) {
  const others = servers.filter(({ url }) => /^https?:/.test(url));
  if (others.length === 0) return;
  const named = others.map(({ url, description }) => `\`${url}\` (${description ?? 'the service'})`);
  $('elsewhere').replaceChildren(...inline(
    `This page calls the server that it came from. The service is reached at ${named.join(' and ')}.`));
  $('elsewhere').hidden = false;
}

const contentsOf = (tag) => make('li', {},
  make('span', { class: 'group' }, capital(tag.name)),
  make('ul', {}, tag.operations.map(({ id, method, summary, deprecated }) => make('li', {},
    make('a', { href: `#${id}`, class: deprecated && 'old' }, make('span', {}, summary), ' ', methodPill(method))))));

function groupSection(tag, common) {
  const id = `group-${tag.name}`;
  return make('section', { class: 'group', 'aria-labelledby': id },
    make('h2', { id }, capital(tag.name)), make('p', { class: 'lead' }, inline(tag.description)),
    tag.operations.map((operation) => operationSection(operation, common)));
}

/** Returns the section with the body of errors, the errors that every operation has, and answers at other addresses. */
function errorsSection({ components, other }, common) {
  return make('section', { id: 'errors', class: 'prose', 'aria-labelledby': 'errors-title' },
    make('h2', { id: 'errors-title' }, 'Errors'),
    make('p', {}, 'Every error has a body with these fields.'),
    fieldList(properties(components.schemas.Error)),
    make('h3', {}, 'Of every operation'), common.map(errorText),
    other && [make('h3', {}, 'Elsewhere'), blocks(other.description), other.answers.map(errorText)]);
}

function aboutSection({ version, description }) {
  return make('section', { id: 'about', class: 'prose', 'aria-labelledby': 'about-title' },
    make('h2', { id: 'about-title' }, `About this interface, version ${version}`), blocks(description, 'h3'));
}

function show(source) {
  const tags = groups(source);
  const common = commonErrors(tags.flatMap(({ operations }) => operations));
  showServers(source.servers);
  $('contents').append(...tags.map(contentsOf),
    make('li', {}, make('a', { href: '#errors' }, 'Errors')),
    make('li', {}, make('a', { href: '#about' }, 'About this interface')));
  $('reference').replaceChildren(
    ...tags.map((tag) => groupSection(tag, common)), errorsSection(source, common), aboutSection(source.info));
  followReader($('contents'));
}

/** In the contents, marks the section that is at the top of the window. */
function followReader(contents) {
  const links = new Map([...contents.querySelectorAll('a')].map((link) => [link.hash.slice(1), link]));
  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      links.get(target.id).ariaCurrent = isIntersecting ? 'true' : null;
    }
  }, { rootMargin: '-5% 0px -85% 0px' });
  for (const id of links.keys()) watcher.observe($(id));
  contents.addEventListener('click', ({ target }) => target.closest('a') && ($('fold').ariaExpanded = 'false'));
  // The browser could not scroll to the section in the address before the section existed.
  $(location.hash.slice(1))?.scrollIntoView();
}

/** Checks the key of this tab again. */
async function checkKey() {
  $('key-state').textContent = 'Checking the key of this tab…';
  try {
    await call(`${ROOT}v1/pets?limit=1`);
    showAccepted();
  } catch (failure) {
    if (!leaveIfRefused(failure)) $('key-state').textContent = `The key was not checked. ${explain(failure)}`;
  }
}

function showAccepted() {
  const rights = isReadOnly() ? ' It may only read: adding an animal gets a 403.' : '';
  if (storedKey()) $('key-state').textContent = `Your key is accepted.${rights}`;
}

$('first').replaceChildren(first.element);
onKeyGone((reason) => {
  showText($('key-state'), reason ? '' : 'The key is forgotten.');
  if (reason) return;
  clearAnswers();
  $('key').focus();
});
connectKey(showAccepted);
if (storedKey()) checkKey();
try {
  show(parseDocument((await call(`${ROOT}openapi.json`, { key: '' })).text));
} catch (error) {
  showText($('failure'), `The operations cannot be shown. ${explain(error)} Reload the page to try again.`);
  $('reference').replaceChildren();
}
