// Building elements, and where the service is.

/** Where the pages and the interface are, such as `/`: a proxy may put a path before it. */
export const ROOT = new URL('../../', import.meta.url).pathname;

/** The element with this id. */
export const $ = (id) => document.getElementById(id);

/**
 * An element with attributes and children. An attribute of `false` or `undefined` is left out, one of
 * `true` is empty; children may be lists, and one of `null`, `undefined` or `false`
 * is left out.
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

/** A button that cannot be used keeps its focus; who listens to its clicks looks at this. */
export const isEnabled = (button) => button.getAttribute('aria-disabled') !== 'true';

/** Lets a button be used, or not. */
export const enable = (button, enabled) => button.setAttribute('aria-disabled', String(!enabled));
