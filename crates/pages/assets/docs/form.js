// The form of an operation, built from the OpenAPI document.

import { make, showFault } from '../shared/dom.js';

/**
 * Returns the fields of the form of an operation: their elements and their values. `fill` sets the query parameters.
 * `check` shows the error of each field, moves the focus to the first error, and returns whether there is none.
 */
export function formFields(operation) {
  const fields = operation.parameters.map((parameter) => parameterField(operation, parameter));
  const body = operation.body && bodyField(operation);
  const all = body ? [...fields, body.field] : fields;
  for (const field of all) field.control.addEventListener('input', () => field.showFault(''));
  return {
    elements: all.flatMap(({ elements }) => elements),
    values: () => new Map(fields.map(({ name, control }) => [name, control.value])),
    fill: (query) => {
      for (const { name, place, control } of fields) {
        if (place === 'query') control.value = query.get(name) ?? '';
      }
    },
    body: () => body?.field.control.value,
    check: () => {
      for (const field of all) field.showFault(field.faultOf(field.control.value));
      const first = all.find(({ control }) => control.ariaInvalid === 'true');
      first?.control.focus();
      return first === undefined;
    },
  };
}

/** Returns a labeled control with a place for its error. */
function labeled(id, name, note, control, faultOf) {
  control.id = id;
  control.setAttribute('aria-describedby', `${id}-fault`);
  const fault = make('p', { id: `${id}-fault`, class: 'fault', hidden: true });
  const label = make('label', { for: id }, make('span', { class: 'name' }, name), ' ',
    note && make('span', { class: 'type' }, note));
  return {
    name,
    control,
    faultOf,
    elements: [make('div', { class: 'row' }, label, control, fault)],
    showFault: (text) => showFault(control, fault, text),
  };
}

function parameterField(operation, parameter) {
  const { name, in: place, required, schema } = parameter;
  const faultOf = (value) => {
    if (required && value === '') return `Enter a value: ${name} is part of the address.`;
    const isHeader = place === 'header';
    return isHeader && !/^[\x20-\x7e]*$/.test(value) ? 'A header may contain only ASCII characters.' : '';
  };
  const field = labeled(`${operation.id}-${name}`, name, required && 'required', controlOf(schema), faultOf);
  return { ...field, place };
}

function controlOf(schema) {
  if (schema.enum) {
    const options = schema.enum.map((value) => make('option', { value }, value));
    return make('select', {}, make('option', { value: '' }, 'not sent'), options);
  }
  return make('input', {
    type: 'text',
    inputmode: schema.type === 'integer' ? 'numeric' : undefined,
    placeholder: schema.default === undefined ? undefined : `${schema.default}`,
    autocomplete: 'off',
    autocapitalize: 'off',
    spellcheck: 'false',
  });
}

function bodyField(operation) {
  const { examples = {} } = operation.body;
  const texts = Object.values(examples).map(({ summary, value }) => ({ summary, text: JSON.stringify(value, null, 2) }));
  const control = make('textarea', { rows: '6', spellcheck: 'false', autocapitalize: 'off' });
  control.value = texts[0]?.text ?? '';
  const field = labeled(`${operation.id}-body`, 'Body', 'JSON', control, faultOfBody);
  if (texts.length > 1) field.elements.unshift(exampleChoice(operation.id, texts, control));
  return { field };
}

/** Returns the error of a body that is missing or not JSON, or an empty text. */
function faultOfBody(text) {
  if (text.trim() === '') return 'The body is empty. Enter a JSON object.';
  try {
    JSON.parse(text);
    return '';
  } catch (error) {
    return `The body is not JSON: ${error.message}.`;
  }
}

function exampleChoice(id, texts, control) {
  const choice = make('select', { id: `${id}-example` },
    texts.map(({ summary }, index) => make('option', { value: String(index) }, summary)));
  choice.addEventListener('change', () => {
    control.value = texts[choice.value].text;
    control.dispatchEvent(new Event('input', { bubbles: true }));
  });
  return make('div', { class: 'row' }, make('label', { for: choice.id }, 'Example'), choice);
}
