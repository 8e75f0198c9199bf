// A request, made from the fields of a form, and programs in three languages that send it. A shown program reads the
// key from the environment. The copied curl command contains the key.

import { codePanel } from '../shared/code.js';
import { make, ROOT } from '../shared/dom.js';
import { compact } from '../shared/json.js';
import { storedKey } from '../shared/stored.js';

/** The base path, to which the paths of the OpenAPI document are relative. */
export const BASE = `${ROOT}v1`;

/**
 * Returns the request of an operation. `values` maps the name of a parameter to its text; empty texts are not sent.
 * `body` is the JSON that the user typed.
 */
export function requestOf(operation, values, body) {
  const query = new URLSearchParams();
  const headers = {};
  let path = operation.path;
  for (const { name, in: place } of operation.parameters) {
    const value = values.get(name) ?? '';
    if (value === '') continue;
    if (place === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value));
    if (place === 'query') query.append(name, value);
    if (place === 'header') headers[name] = value;
  }
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const target = query.size > 0 ? `${BASE}${path}?${query}` : `${BASE}${path}`;
  return { method: operation.method, target, headers, body };
}

/** The languages of the samples, each with a function that returns the program of a request. */
const LANGUAGES = { curl, Python: python, TypeScript: typeScript };

const shell = (text) => `'${text.replaceAll("'", String.raw`'\''`)}'`;
const quoted = JSON.stringify;
const address = ({ target }) => location.origin + target;

function curl(request, key) {
  const { method, headers, body } = request;
  const parts = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${shell(address(request))}`,
    key ? `-H ${shell(`Authorization: Bearer ${key}`)}` : '-H "Authorization: Bearer $PETSTORE_API_KEY"',
    ...Object.entries(headers).map(([name, value]) => `-H ${shell(`${name}: ${value}`)}`),
  ];
  if (body !== undefined) parts.push(`-d ${shell(compact(body))}`);
  return parts.join(' \\\n  ');
}

function python(request) {
  const { method, headers, body } = request;
  const lines = Object.entries(headers).map(([name, value]) => `        ${quoted(name)}: ${quoted(value)},`);
  return [
    'import os, urllib.request',
    '',
    'key = os.environ["PETSTORE_API_KEY"]',
    'request = urllib.request.Request(',
    `    ${quoted(address(request))},`,
    `    method=${quoted(method)},`,
    '    headers={',
    '        "Authorization": f"Bearer {key}",',
    ...lines,
    '    },',
    ...(body === undefined ? [] : [`    data=${quoted(compact(body))}.encode(),`]),
    ')',
    'with urllib.request.urlopen(request) as answer:',
    '    print(answer.status, answer.read().decode())',
  ].join('\n');
}

function typeScript(request) {
  const { method, headers, body } = request;
  const lines = Object.entries(headers).map(([name, value]) => `    ${quoted(name)}: ${quoted(value)},`);
  return [
    'const key = process.env.PETSTORE_API_KEY;',
    `const answer = await fetch(${quoted(address(request))}, {`,
    `  method: ${quoted(method)},`,
    '  headers: {',
    '    Authorization: `Bearer ${key}`,',
    ...lines,
    '  },',
    ...(body === undefined ? [] : [`  body: ${quoted(compact(body))},`]),
    '});',
    'console.log(answer.status, await answer.text());',
  ].join('\n');
}

/** The functions that draw the samples of the page. All samples are in the same language. */
const samples = new Set();
let language = Object.keys(LANGUAGES)[0];

/** Returns a panel with the program of a request. `show` replaces the request. */
export function sample(label) {
  const buttons = Object.keys(LANGUAGES).map((name) => {
    const button = make('button', { type: 'button', class: 'quiet', 'data-language': name }, name);
    button.addEventListener('click', () => {
      language = name;
      for (const draw of samples) draw();
    });
    return button;
  });
  const panel = codePanel(make('span', { class: 'languages', role: 'group', 'aria-label': 'Language of the samples' }, buttons), label);
  panel.element.querySelector('.code').classList.add('sample');
  let request;
  const draw = () => {
    panel.show(LANGUAGES[language](request), () => LANGUAGES[language](request, storedKey()));
    for (const button of buttons) button.ariaPressed = String(button.textContent === language);
  };
  samples.add(draw);
  return {
    element: panel.element,
    show(next) {
      request = next;
      draw();
    },
  };
}
