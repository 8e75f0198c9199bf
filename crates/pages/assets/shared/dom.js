// Helpers for elements, shared by both pages.

/** The path of the service, such as `/`. A proxy may add a prefix. */
export const ROOT = new URL('.', location.href).pathname;

/** Returns the element with this id. */
export const $ = (id) => document.getElementById(id);

/**
 * Returns an element with attributes and children. Attributes of `false` or `undefined` are omitted, and an attribute
 * of `true` is empty. Children may be lists; `null`, `undefined` and `false` are omitted.
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

/** Returns `text` with a capital first letter. */
export const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** Shows or hides an element. */
export function show(element, shown) {
  element.hidden = !shown;
}

/** Sets the text of an element, and hides an element without text. */
export function showText(element, text) {
  element.textContent = text;
  show(element, text !== '');
}

/** Marks a field as invalid, with the reason below it. An empty text removes both. */
export function showFault(field, error, text) {
  showText(error, text);
  field.ariaInvalid = String(text !== '');
}

/** Returns whether a button is enabled. A disabled button still gets clicks, so their listeners must check this. */
export const isEnabled = (button) => button.ariaDisabled !== 'true';

/** Enables or disables a button. */
export function enable(button, enabled) {
  button.ariaDisabled = String(!enabled);
}

/** Starts or stops the spinner of a button. */
export const spin = (button, spins) => button.classList.toggle('busy', spins);

/** Makes a button wait for an answer, or enables it again. `label` is its text. */
export function busy(button, isBusy, label = button.textContent) {
  enable(button, !isBusy);
  spin(button, isBusy);
  button.textContent = label;
}

/** Runs `action` with `button` when an enabled button is pressed. */
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

/** Announces `text` to a screen reader, also if the text is unchanged. */
export function announce(text) {
  $('announcement').replaceChildren(make('span', {}, text));
}

// A link that moves the focus does not change the address, which contains the place in the list.
for (const link of document.querySelectorAll('[data-jump]')) {
  link.addEventListener('click', (event) => {
    event.preventDefault();
    $(link.dataset.jump).focus();
    $(link.dataset.jump).scrollIntoView({ block: 'nearest' });
  });
}
// Buttons that unfold something on a small screen.
for (const fold of document.querySelectorAll('.fold[aria-expanded]')) {
  fold.addEventListener('click', () => (fold.ariaExpanded = String(fold.ariaExpanded !== 'true')));
}
