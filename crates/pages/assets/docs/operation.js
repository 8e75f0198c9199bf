// An operation: its description on the left, its call on the right.

import { codePanel } from '../shared/code.js';
import { make } from '../shared/dom.js';
import { BASE } from './request.js';
import { blocks, day, inline } from './text.js';
import { statusPill, tryout } from './tryout.js';

/** Returns the section of an operation, without the errors that every operation has. */
export function operationSection(operation, common) {
  const { id, method, path, summary, description, parameters, body, answers, isOffered } = operation;
  const title = make('h3', { id: `${id}-title` }, make('a', { href: `#${id}` }, summary), ' ', marks(operation));
  const endpoint = make('p', { class: 'endpoint' }, methodPill(method), ' ', make('code', {}, `${BASE}${path}`));
  const attributes = { id, class: 'operation', 'aria-labelledby': `${id}-title` };
  if (!isOffered) return make('section', attributes, title, make('p', {}, ...endpoint.childNodes, ' ', inline(description)));
  const good = answers.filter(({ isError }) => !isError);
  const own = answers.filter((answer) => answer.isError && !common.some((other) => isSame(answer, other)));
  const statuses = common.map(({ status }) => status).join(', ');
  const text = make('div', { class: 'description' },
    endpoint, blocks(description),
    parameters.length > 0 && [make('h4', {}, 'Parameters'), fieldList(parameters.map((described) => ({
      ...described, described, place: described.in })))],
    body && [make('h4', {}, 'Body'), blocks(body.description), fieldList(properties(body.schema))],
    make('h4', {}, 'Responses'), good.map(answerText), own.map(errorText),
    statuses && make('p', { class: 'hint' }, 'Like every operation: ', make('a', { href: '#errors' }, statuses), '.'));
  return make('section', attributes, title, make('div', { class: 'columns' }, text, make('div', { class: 'aside' }, tryout(operation))));
}

const isSame = (answer, other) => answer.status === other.status && String(answer.codes) === String(other.codes);

/** Returns the errors that every operation has. */
export function commonErrors(operations) {
  const [first, ...others] = operations.map(({ answers }) => answers.filter(({ isError }) => isError));
  return (first ?? []).filter((error) => others.every((answers) => answers.some((answer) => isSame(answer, error))));
}

/** Returns the badge of a method. */
export const methodPill = (method) => make('span', { class: `method ${method.toLowerCase()}` }, method);

const COLORS = { beta: 'blue', experimental: 'amber', deprecated: 'amber' };

const mark = (kind, text = kind) => make('span', { class: `mark ${COLORS[kind] ?? ''}` }, text);

/** Returns the badges of an operation, a parameter or an answer: its stability and its deprecation. */
function marks(described) {
  const { deprecated, 'x-stability': stability, 'x-deprecated-sunset': sunset } = described;
  return [
    stability && mark(stability),
    deprecated && mark('deprecated', sunset ? `deprecated, removed on ${day(sunset)}` : 'deprecated'),
  ];
}

/** Returns a list of named fields: parameters, headers or properties. */
export function fieldList(fields) {
  return make('dl', { class: 'fields' }, fields.map(({ name, required, described, place }) => {
    const schema = described.schema ?? described;
    const description = described.description ?? schema.description;
    const bounds = facts(schema, described.example, description);
    return make('div', { class: 'field' },
      make('dt', {},
        make('code', {}, name), ' ', make('span', { class: 'type' }, typeOf(schema)), ' ',
        required && make('span', { class: 'required' }, 'required'), ' ', marks(described),
        place && make('span', { class: 'place' }, place)),
      make('dd', {}, blocks(description), bounds && make('p', { class: 'hint' }, inline(bounds))));
  }));
}

/** Returns the properties of an object, or of the items of an array, for `fieldList`. */
export function properties(schema) {
  const object = schema.items ?? schema;
  return Object.entries(object.properties ?? {}).map(([name, described]) => ({
    name, described, required: object.required?.includes(name) ?? false,
  }));
}

/** Returns the type of a schema in a word or two. */
function typeOf(schema) {
  if (schema.type === 'array') return `array of ${schema.items?.title ?? typeOf(schema.items ?? {})}`;
  if (schema.type === 'object') return schema.title ?? 'object';
  return schema.format ?? schema.type ?? 'any';
}

/**
 * Returns sentences about the bounds, the default, the values and the example of a schema. Omits the range of an
 * `int64`, lengths if the description has a range, and values if the description names all of them.
 */
function facts(schema, example, description = '') {
  const { minimum, maximum, minLength = 0, maxLength, maxItems, format } = schema;
  const isDescribed = /\d to \d+ /.test(description);
  const values = (schema.enum ?? []).map((value) => `\`${value}\``);
  const sentences = [
    maximum !== undefined && format !== 'int64' && `${minimum} to ${maximum}.`,
    maxLength !== undefined && !isDescribed && `${minLength} to ${maxLength} characters.`,
    maxItems !== undefined && `Up to ${maxItems}.`,
    schema.default !== undefined && `Default: \`${schema.default}\`.`,
    values.some((value) => !description.includes(value)) && `${values.length > 1 ? 'One of' : 'Always'} ${values.join(', ')}.`,
    example !== undefined && `Example: \`${example}\`.`,
  ];
  return sentences.filter(Boolean).join(' ');
}

/** Returns a successful answer: its meaning, fields, headers and examples. */
function answerText(answer) {
  const { status, description, schema, examples } = answer;
  return make('div', { class: 'documented' },
    make('p', {}, statusPill(status), ' ', inline(description), ' ', marks(answer)),
    schema && make('details', {}, make('summary', {}, `Fields: ${typeOf(schema)}`), fieldList(properties(schema))),
    headersText(answer),
    examplePanels(examples));
}

function headersText({ headers = {} }) {
  const fields = Object.entries(headers).map(([name, described]) => ({ name, described }));
  return fields.length > 0 && make('details', {}, make('summary', {}, 'Headers'), fieldList(fields));
}

/** Returns an error as a folded element: its codes, their causes, examples of the body, and headers. */
export function errorText(answer) {
  const { status, description, examples, codes } = answer;
  return make('details', { class: 'error' },
    make('summary', {}, statusPill(status), ' ', codes.map((code) => [make('code', {}, code), ' ']), marks(answer)),
    make('p', {}, inline(description)),
    examplePanels(examples),
    headersText(answer));
}

const examplePanels = (examples) => examples.map(({ summary, value }) =>
  codePanel(inline(summary), `Example: ${summary}`, JSON.stringify(value, null, 2)).element);
