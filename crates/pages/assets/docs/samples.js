// A request as a program in three languages. The key is not in it: it comes from the environment.

import { compact } from './exact.js';

/** The languages of the samples, each with a function from a request to its program. */
export const LANGUAGES = { curl, Python: python, TypeScript: typeScript };

const shell = (text) => `'${text.replaceAll("'", String.raw`'\''`)}'`;
const quoted = JSON.stringify;
const address = ({ target }) => location.origin + target;

function curl(request) {
  const { method, headers, body } = request;
  const parts = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${shell(address(request))}`,
    '-H "Authorization: Bearer $PETSTORE_API_KEY"',
    ...headers.map(([name, value]) => `-H ${shell(`${name}: ${value}`)}`),
  ];
  if (body !== undefined) parts.push(`-d ${shell(compact(body))}`);
  return parts.join(' \\\n  ');
}

function python(request) {
  const { method, headers, body } = request;
  const lines = headers.map(([name, value]) => `        ${quoted(name)}: ${quoted(value)},`);
  return [
    'import os, urllib.request',
    '',
    'request = urllib.request.Request(',
    `    ${quoted(address(request))},`,
    `    method=${quoted(method)},`,
    '    headers={',
    '        "Authorization": "Bearer " + os.environ["PETSTORE_API_KEY"],',
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
  const lines = headers.map(([name, value]) => `    ${quoted(name)}: ${quoted(value)},`);
  return [
    `const answer = await fetch(${quoted(address(request))}, {`,
    `  method: ${quoted(method)},`,
    '  headers: {',
    '    Authorization: `Bearer ${process.env.PETSTORE_API_KEY}`,',
    ...lines,
    '  },',
    ...(body === undefined ? [] : [`  body: ${quoted(compact(body))},`]),
    '});',
    'console.log(answer.status, await answer.text());',
  ].join('\n');
}
