// Building elements, and what is done with them on both pages.

/** Where the pages and the interface are, such as `/`: a proxy may put a path before it. */
export const ROOT = new URL('.', location.href).pathname;

/** The element with this id. */
export const $ = (id) => document.getElementById(id);

/**
 * An element with attributes and children. An attribute of `false` or `undefined` is left out, one of
 * `true` is empty; children may be lists, and one of `null`, `undefined` or `false` is left out.
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== false && (child ?? null) !== null));
  return element;
}

/** `text` with a capital letter at its start. */
export const capital = (text) => text[0].toUpperCase() + text.slice(1);

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
  field.ariaInvalid = String(text !== '');
}

/** A button that cannot be used keeps its focus; who listens to its clicks looks at this. */
export const isEnabled = (button) => button.ariaDisabled !== 'true';

/** Lets a button be used, or not. */
export function enable(button, enabled) {
  button.ariaDisabled = String(!enabled);
}

/** Lets a button turn its wheel, or not. */
export const spin = (button, spins) => button.classList.toggle('busy', spins);

/** Lets a button wait for an answer, or be used again; `label` is what it says then. */
export function busy(button, isBusy, label = button.textContent) {
  enable(button, !isBusy);
  spin(button, isBusy);
  button.textContent = label;
}

/** Runs `action` with `button` when it is pressed, unless it cannot be used. */
export function onPress(button, action) {
  button.addEventListener('click', () => isEnabled(button) && action(button));
}

/** Runs `action` instead of sending the form with this id. */
export function onSubmit(id, action) {
  $(id).addEventListener('submit', (event) => {
    event.preventDefault();
    action();
  });
}

/** Says `text` to a reader of the screen, also if it is the same as before. */
export function announce(text) {
  $('announcement').replaceChildren(make('span', {}, text));
}

// A link that moves the focus leaves the address alone, which holds the place in the list.
for (const link of document.querySelectorAll('[data-jump]')) {
  link.addEventListener('click', (event) => {
    event.preventDefault();
    $(link.dataset.jump).focus();
    $(link.dataset.jump).scrollIntoView({ block: 'nearest' });
  });
}
// What a small screen folds.
for (const fold of document.querySelectorAll('.fold[aria-expanded]')) {
  fold.addEventListener('click', () => (fold.ariaExpanded = String(fold.ariaExpanded !== 'true')));
}
