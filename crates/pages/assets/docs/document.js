// The OpenAPI document, in the form that the page shows.

import { parse } from '../shared/json.js';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** Reads the document, and replaces every reference by its target. */
export function parseDocument(text) {
  const source = parse(text);
  const whole = resolve(source, source, []);
  const other = whole['x-other-responses'];
  return { ...whole, other: other && { ...other, answers: answersOf(other.responses) } };
}

/** Returns `value` without references. `trail` lists the references around it, because a schema may contain itself. */
function resolve(value, source, trail) {
  if (Array.isArray(value)) return value.map((item) => resolve(item, source, trail));
  if (value === null || typeof value !== 'object') return value;
  const reference = value.$ref;
  if (typeof reference === 'string' && !trail.includes(reference)) {
    const names = reference.slice('#/'.length).split('/');
    const target = names.reduce((parent, name) => parent?.[name], source);
    return { title: names.at(-1), ...resolve(target, source, [...trail, reference]) };
  }
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([name, item]) => [name, resolve(item, source, trail)]));
}

/** Returns the tags, each with its operations. */
export function groups(source) {
  const operations = Object.entries(source.paths ?? {}).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => operation(path, method, item)));
  return (source.tags ?? []).map((tag) => ({
    ...tag,
    operations: operations.filter(({ tags }) => tags?.includes(tag.name)),
  }));
}

function operation(path, method, item) {
  const described = item[method];
  const { content, ...body } = described.requestBody ?? {};
  const json = content?.['application/json'];
  return {
    ...described,
    path,
    method: method.toUpperCase(),
    id: described.operationId,
    parameters: [...(item.parameters ?? []), ...(described.parameters ?? [])],
    body: json && { ...body, ...json },
    answers: answersOf(described.responses),
    isOffered: described['x-hideTryItPanel'] !== true,
  };
}

/** Returns the list of responses in the order of their status, each with its schema, examples and error codes. */
function answersOf(responses = {}) {
  return Object.entries(responses).map(([status, response]) => {
    const json = response.content?.['application/json'];
    const examples = Object.values(json?.examples ?? {});
    return {
      ...response,
      status,
      isError: status >= '400',
      schema: json?.schema,
      examples,
      codes: [...new Set(examples.map(({ value }) => value.code).filter(Boolean))],
    };
  });
}
