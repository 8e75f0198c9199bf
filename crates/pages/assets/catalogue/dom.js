// What the modules of the catalogue do with the document, beyond what both pages share.

import { $, isEnabled, make } from '../docs/shared/dom.js';

/** A number with its thousands apart. */
export const format = new Intl.NumberFormat('en').format;

/** "1 animal", "2 animals". */
export const animals = (count) => `${format(count)} ${count === 1 ? 'animal' : 'animals'}`;

/** The time of day. */
export const timeOfDay = (date = new Date()) => date.toLocaleTimeString('en-GB');

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

/** Runs `action` when the button with this id is pressed, unless it cannot be used. */
export function onPress(id, action) {
  $(id).addEventListener('click', () => isEnabled($(id)) && action());
}

/** Says `text` to a reader of the screen, also if it is the same as before. */
export function announce(text) {
  $('announcement').replaceChildren(make('span', {}, text));
}
