// The form that sends the request of an operation, with the sample above and the answer below.

import { codePanel } from '../shared/code.js';
import { busy, isEnabled, make } from '../shared/dom.js';
import { indented } from '../shared/json.js';
import { leaveIfRefused } from '../shared/key.js';
import { nextQuery, Refusal, send } from '../shared/service.js';
import { storedKey } from '../shared/stored.js';
import { formFields } from './form.js';
import { requestOf, sample } from './request.js';

/** The functions that remove the shown answers. They run when the user forgets the key. */
const answers = new Set();

/** Removes every answer from the page. */
export function clearAnswers() {
  for (const clear of answers) clear();
}

/** Returns the sample and the form of an operation. */
export function tryout(operation) {
  const shown = sample(`Sample of ${operation.id}`);
  const fields = formFields(operation);
  const request = () => requestOf(operation, fields.values(), fields.body());
  const draw = () => shown.show(request());
  const place = answerPlace(operation);
  const execute = make('button', { type: 'submit', class: 'primary execute' }, 'Send request');
  const next = make('button', { type: 'button', class: 'secondary next-page', hidden: true }, 'Next page');
  const form = make('form', { class: 'try', novalidate: true, autocomplete: 'off', 'aria-label': `Try ${operation.id}` },
    make('h4', {}, 'Try it'), fields.elements,
    make('p', { class: 'hint keyless' }, 'Without a key the response is 401. ', make('a', { href: '#api-key' }, 'Enter your API key'), '.'),
    operation.method !== 'GET' && make('p', { class: 'hint reading' }, 'Your key may only read: the response is 403.'),
    make('div', { class: 'actions' }, execute, next, place.status));
  let following = null;

  async function run() {
    if (!isEnabled(execute)) return;
    const hadFocus = document.activeElement;
    place.clear();
    next.hidden = true;
    if (!fields.check()) return;
    busy(execute, true);
    place.status.textContent = 'Sending…';
    const key = storedKey();
    const begun = performance.now();
    try {
      const { target, ...options } = request();
      // The answer must come from the service, not from the cache of the browser.
      const { response, text } = await send(target, { ...options, cache: 'no-store' });
      // The key was forgotten meanwhile, so its answers are not shown.
      if (key && !storedKey()) return place.clear();
      following = nextQuery(response.headers);
      next.hidden = following === null;
      place.show(response, text, Math.round(performance.now() - begun));
      if (key) leaveIfRefused(new Refusal(response, text));
    } catch (failure) {
      place.fail(failure.message);
    } finally {
      busy(execute, false);
    }
    // “Next page” was hidden during the request and lost the focus. If it stays hidden, the response gets the focus.
    if (hadFocus === next && next.hidden) place.focus();
    else if (hadFocus === next) next.focus();
  }

  form.addEventListener('input', draw);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    run();
  });
  next.addEventListener('click', () => {
    fields.fill(new URLSearchParams(following));
    draw();
    run();
  });
  answers.add(() => {
    place.clear();
    next.hidden = true;
  });
  draw();
  return [shown.element, form, place.element];
}

/** Returns a status code in its color, with its text if there is one. */
export const statusPill = (code, words = '') =>
  make('span', { class: `status ${code >= 400 ? 'red' : 'green'}` }, `${code} ${words}`.trim());

/** Returns the element for the answer of an operation, and the line about the request. */
function answerPlace(operation) {
  const status = make('p', { class: 'hint sent', role: 'status' });
  const heading = make('h4', { tabindex: '-1' }, 'Response');
  const content = make('div', { class: 'answer-content' });
  const element = make('section', { class: 'answer', 'aria-label': `Response of ${operation.id}`, hidden: true }, heading, content);
  return {
    status,
    element,
    focus: () => heading.focus(),
    clear() {
      element.hidden = true;
      content.replaceChildren();
      status.textContent = '';
      status.classList.remove('fault');
    },
    show(response, text, time) {
      const { status: code, statusText, headers } = response;
      const isJson = /json/i.test(headers.get('Content-Type') ?? '');
      content.replaceChildren(
        text === ''
          ? make('p', { class: 'hint' }, 'No body.')
          : codePanel('Body', 'Body of the answer', isJson ? indented(text) : text).element,
        make('details', { class: 'received' }, make('summary', {}, 'Headers'), make('dl', {},
          [...headers].map(([name, value]) => make('div', {}, make('dt', {}, name), make('dd', {}, value))))));
      element.hidden = false;
      status.replaceChildren(statusPill(code, statusText), ` in ${time} ms`);
    },
    fail(message) {
      status.textContent = message;
      status.classList.add('fault');
    },
  };
}
