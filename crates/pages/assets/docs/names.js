// Swagger UI leaves some controls without a name, and some scrolling boxes out of the keyboard's
// reach. It draws again whenever something changes, so they are looked after then.

/** What is found inside an operation, and the name that it gets from there. */
const NAMES = [
  ['tr[data-param-name] :is(input, select, textarea)', (control) =>
    control.closest('tr').dataset.paramName],
  ['textarea.body-param__text', () => 'Request body'],
  ['.opblock-section-request-body .examples-select select', () => 'Example of a request body'],
  ['.opblock-section-request-body .content-type', () => 'Media type of the request body'],
  ['.response .examples-select select', (control) => `Example for ${status(control)}`],
  ['.response .content-type', (control) => `Media type for ${status(control)}`],
  ['table.responses-table[role="region"]', (table) =>
    `Documented responses of ${table.closest('.opblock').id.split('-').at(-1)}`],
];

const status = (control) => control.closest('.response').dataset.code;

function name(root) {
  for (const [selector, nameOf] of NAMES) {
    for (const element of root.querySelectorAll(selector)) {
      const text = nameOf(element);
      if (element.getAttribute('aria-label') !== text) element.setAttribute('aria-label', text);
    }
  }
  // Their names differ from what is written on them.
  for (const button of root.querySelectorAll('.modal-btn[aria-label]')) {
    button.removeAttribute('aria-label');
  }
  for (const box of root.querySelectorAll('pre:not([tabindex])')) {
    if (box.scrollHeight > box.clientHeight || box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
}

/** Names what is inside `root`, now and whenever it changes. */
export function keepNamed(root) {
  new MutationObserver(() => name(root)).observe(root, { childList: true, subtree: true });
  name(root);
}
