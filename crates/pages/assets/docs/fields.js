// The fields of a request or an answer, as a list to read: name, type, bounds, default, meaning.

import { make } from './shared/dom.js';
import { marks } from './marks.js';
import { blocks, inline } from './text.js';

/** A list of fields. Each has a name, and is described by a parameter, a header or a property. */
export function fieldList(fields) {
  return make('dl', { class: 'fields' }, fields.map(({ name, required, described }) => {
    const schema = described.schema ?? described;
    return make('div', { class: 'field' },
      make('dt', {},
        make('code', { class: 'name' }, name), ' ',
        make('span', { class: 'type' }, typeOf(schema)), ' ',
        required && make('span', { class: 'required' }, 'required'), ' ',
        marks(described)),
      make('dd', {},
        blocks(described.description ?? schema.description),
        facts(schema, described.example),
        schema.pattern && pattern(schema.pattern)));
  }));
}

/** The properties of an object, or of what an array contains, for `fieldList`. */
export function properties(schema) {
  const object = schema.items ?? schema;
  return Object.entries(object.properties ?? {}).map(([name, described]) => ({
    name, described, required: object.required?.includes(name) ?? false,
  }));
}

/** What a schema is, in a word or two. */
export function typeOf(schema) {
  if (schema.type === 'array') return `array of ${schema.items?.title ?? typeOf(schema.items ?? {})}`;
  if (schema.type === 'object') return schema.title ?? 'object';
  return schema.format ?? schema.type ?? 'any';
}

/** The bounds, the default, the values and the example of a schema, as a line. */
function facts(schema, example) {
  const { minimum, maximum, minLength, maxLength, maxItems } = schema;
  const sentences = [
    range(minimum, maximum, ''),
    range(minLength, maxLength, ' characters'),
    range(undefined, maxItems, ' items'),
    schema.default !== undefined && `Default: \`${schema.default}\`.`,
    schema.enum?.length > 0 && `${schema.enum.length > 1 ? 'One of' : 'Always'} ${schema.enum.map((value) => `\`${value}\``).join(', ')}.`,
    example !== undefined && `Example: \`${example}\`.`,
  ];
  const line = sentences.filter(Boolean).join(' ');
  return line && make('p', { class: 'fact' }, inline(line));
}

function range(least, largest, unit) {
  if (least !== undefined && largest !== undefined) return `From ${least} to ${largest}${unit}.`;
  if (least !== undefined) return `At least ${least}${unit}.`;
  return largest !== undefined && `At most ${largest}${unit}.`;
}

const pattern = (expression) => make('details', { class: 'pattern' },
  make('summary', {}, 'Pattern'), make('code', {}, expression));
