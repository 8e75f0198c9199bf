// Short names for what every module does with the document.

/** The element with this id. */
export const $ = (id) => document.getElementById(id);

/** A number with its thousands apart. */
export const format = new Intl.NumberFormat('en').format;

/** "1 animal", "2 animals". */
export const animals = (count) => `${format(count)} ${count === 1 ? 'animal' : 'animals'}`;

/** The time of day, in the form of the reader's own region. */
export const timeOfDay = (date = new Date()) => date.toLocaleTimeString();

/** An element with these attributes and children. Texts stay texts: nothing is read as HTML. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Shows or hides an element. */
export function show(element, shown) {
  element.hidden = !shown;
}

/** Puts `text` into an element, which is shown exactly if there is a text. */
export function showText(element, text) {
  element.textContent = text;
  show(element, text !== '');
}

/** Marks a field as faulty, with the reason below it; an empty text clears both. */
export function showFault(field, error, text) {
  showText(error, text);
  field.setAttribute('aria-invalid', String(text !== ''));
}

/** A button that cannot be used keeps its focus: so `aria-disabled`, not `disabled`. */
export function enable(button, enabled) {
  button.setAttribute('aria-disabled', String(!enabled));
}

/** Whether a button can be used. */
export const isEnabled = (button) => button.getAttribute('aria-disabled') !== 'true';

/** Runs `action` when the button with this id is pressed, unless it cannot be used. */
export function onPress(id, action) {
  $(id).addEventListener('click', () => isEnabled($(id)) && action());
}

/** Says `text` to a reader of the screen, also if it is the same as before. */
export function announce(text) {
  $('announcement').replaceChildren(make('span', {}, text));
}
