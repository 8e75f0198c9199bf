// The page: fetches the OpenAPI document and shows it.

import { $, make, ROOT } from './shared/dom.js';
import { followReader } from './contents.js';
import { answers, fetchDocument, groups } from './document.js';
import { fieldList, properties } from './fields.js';
import { noteAnswer, startKeyPanel } from './keypanel.js';
import { errorText, methodPill, operationSection } from './operation.js';
import { blocks, inline } from './text.js';
import { clearAnswers } from './tryout.js';

const SOURCE = `${ROOT}openapi.json`;

/** Where else the service is, for who wants to call it from elsewhere than this page. */
function showServers(servers = []) {
  const others = servers.filter(({ url }) => /^https?:/.test(url));
  if (others.length === 0) return;
  const named = others.map(({ url, description }) => `\`${url}\` (${description ?? 'the service'})`);
  $('elsewhere').replaceChildren(...inline(
    `This page calls the server that it came from. The service is reached at ${named.join(' and ')}.`));
  $('elsewhere').hidden = false;
}

function contentsOf(tag) {
  return make('li', {}, make('span', { class: 'group' }, title(tag)),
    make('ul', {}, tag.operations.map(({ id, method, summary, deprecated }) =>
      make('li', {}, make('a', { href: `#${id}`, class: deprecated ? 'old' : undefined },
        make('span', {}, summary), ' ', methodPill(method))))));
}

const title = ({ name }) => name[0].toUpperCase() + name.slice(1);

function groupSection(tag) {
  const id = `group-${tag.name}`;
  return make('section', { class: 'group', 'aria-labelledby': id },
    make('h2', { id }, title(tag)), make('p', { class: 'lead' }, inline(tag.description)),
    tag.operations.map((operation) => operationSection(operation, noteAnswer)));
}

/** The body of every error, and the answers to what is no operation. */
function errorsSection(source) {
  const others = source['x-other-responses'];
  return make('section', { id: 'errors', class: 'prose', 'aria-labelledby': 'errors-title' },
    make('h2', { id: 'errors-title' }, 'Errors'),
    make('p', {}, 'Every error has a body with these fields.'),
    fieldList(properties(source.components.schemas.Error)),
    others && [make('h3', {}, 'Elsewhere'), blocks(others.description), answers(others.responses).map(errorText)]);
}

function aboutSection({ version, description }) {
  return make('section', { id: 'about', class: 'prose', 'aria-labelledby': 'about-title' },
    make('h2', { id: 'about-title' }, `About this interface, version ${version}`), blocks(description, 'h3'));
}

function show(source) {
  const tags = groups(source);
  showServers(source.servers);
  $('contents').append(...tags.map(contentsOf),
    make('li', {}, make('a', { href: '#errors' }, 'Errors')),
    make('li', {}, make('a', { href: '#about' }, 'About this interface')));
  $('reference').replaceChildren(...tags.map(groupSection), errorsSection(source), aboutSection(source.info));
  followReader($('contents'));
}

$('first').textContent = $('first').textContent.replace('http://127.0.0.1:8080', location.origin + ROOT.slice(0, -1));
$('api-key').hidden = false;
startKeyPanel(clearAnswers);
try {
  show(await fetchDocument(SOURCE));
} catch (error) {
  $('failure').textContent = `The operations cannot be shown: ${error.message}. Reload the page to try again.`;
  $('failure').hidden = false;
  $('reference').replaceChildren();
}
