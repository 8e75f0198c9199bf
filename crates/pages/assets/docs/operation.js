// An operation: on the left what it does, on the right how it is called and what it answers.

import { make } from './shared/dom.js';
import { statusPill } from './answer.js';
import { fieldList, properties, typeOf } from './fields.js';
import { marks } from './marks.js';
import { BASE } from './request.js';
import { blocks, inline } from './text.js';
import { tryout } from './tryout.js';

/** The section of an operation. `onAnswer` is called with each answer that its form gets. */
export function operationSection(operation, onAnswer) {
  const { id, method, path, summary, description, parameters, body, answers } = operation;
  const good = answers.filter(({ isError }) => !isError);
  const errors = answers.filter(({ isError }) => isError);
  const text = make('div', { class: 'text' },
    make('p', { class: 'endpoint' }, methodPill(method), ' ', make('code', {}, `${BASE}${path}`)),
    blocks(description),
    parameters.length > 0 && [make('h4', {}, 'Parameters'), parameterLists(parameters)],
    body && [make('h4', {}, 'Body'), blocks(body.description), fieldList(properties(body.schema))],
    good.length > 0 && [make('h4', {}, 'Answers'), good.map(answerText)],
    make('h4', {}, 'Errors'),
    errors.map(errorText));
  const title = make('h3', { id: `${id}-title` }, make('a', { href: `#${id}` }, summary), ' ', marks(operation));
  const aside = make('div', { class: 'aside' }, tryout(operation, onAnswer), exampleAnswers(good));
  return make('section', { id, class: 'operation', 'aria-labelledby': `${id}-title` },
    title, make('div', { class: 'columns' }, text, aside));
}

/** The badge of a method. */
export const methodPill = (method) =>
  make('span', { class: `method ${method.toLowerCase()}` }, method);

const PLACES = { path: 'In the path', query: 'In the query', header: 'In headers' };

function parameterLists(parameters) {
  return Object.entries(PLACES).flatMap(([place, title]) => {
    const here = parameters.filter((parameter) => parameter.in === place);
    const fields = here.map((described) => ({ ...described, described }));
    return here.length > 0 ? [make('h5', {}, title), fieldList(fields)] : [];
  });
}

/** An answer that is no error: its meaning, its fields and its headers. */
function answerText(answer) {
  const { status, description, schema } = answer;
  return make('div', { class: 'documented' },
    make('p', {}, statusPill(status), ' ', inline(description), ' ', marks(answer)),
    schema && make('details', {},
      make('summary', {}, `Fields: ${typeOf(schema)}`), fieldList(properties(schema))),
    headersText(answer));
}

function headersText({ headers = {} }) {
  const fields = Object.entries(headers).map(([name, described]) => ({ name, described }));
  return fields.length > 0 && make('details', {}, make('summary', {}, 'Headers'), fieldList(fields));
}

/** An error, folded: its codes, when each comes, and the bodies. */
export function errorText(answer) {
  const { status, description, examples } = answer;
  const codes = [...new Set(examples.map(({ value }) => value.code))];
  return make('details', { class: 'error' },
    make('summary', {},
      statusPill(status), ' ', codes.map((code) => [make('code', {}, code), ' ']), marks(answer)),
    make('p', {}, inline(description)),
    examples.map(({ summary, value }) => exampleBox(inline(`${summary}:`), value)),
    headersText(answer));
}

function exampleAnswers(good) {
  const boxes = good.flatMap(({ status, examples }) =>
    examples.map(({ summary, value }) => exampleBox([statusPill(status), inline(` ${summary}`)], value)));
  return boxes.length > 0 && make('section', { class: 'examples', 'aria-label': 'Example answers' },
    make('h4', {}, 'Example answers'), boxes);
}

function exampleBox(caption, value) {
  return make('figure', { class: 'panel' },
    make('figcaption', { class: 'panel-head' }, make('span', {}, caption)),
    make('pre', { class: 'code' }, make('code', {}, JSON.stringify(value, null, 2))));
}
