// The form that sends an operation's request, with its sample above and its answer below.

import { enable, isEnabled, make } from './shared/dom.js';
import { storedKey } from './shared/key.js';
import { answerElements, nextQuery } from './answer.js';
import { sample } from './code.js';
import { formFields } from './form.js';
import { requestOf, send } from './request.js';

/** Every place of an answer: who forgets the key wants none of them to remain. */
const answers = new Set();

/** Removes every answer from the page. */
export function clearAnswers() {
  for (const clear of answers) clear();
}

/** The sample and the form of an operation; without a form if it cannot be tried. */
export function tryout(operation, onAnswer) {
  const shown = sample(`Sample of ${operation.id}`);
  const title = make('h4', {}, 'Sample request');
  if (!operation.canBeTried) {
    shown.show(requestOf(operation, new Map()));
    return [title, shown.element, make('p', { class: 'hint closed' }, 'This operation cannot be tried here: its try-out is switched off.')];
  }
  const fields = formFields(operation);
  const request = () => requestOf(operation, fields.values(), fields.body());
  const draw = () => shown.show(request());
  const place = answerPlace(operation);
  const execute = make('button', { type: 'submit', class: 'primary execute' }, 'Execute');
  const next = make('button', { type: 'button', class: 'secondary next-page', hidden: true }, 'Next page');
  const form = make('form', { class: 'try', novalidate: true, autocomplete: 'off', 'aria-label': `Try ${operation.id}` },
    make('h4', {}, 'Try it'), fields.elements,
    make('p', { class: 'hint keyless' }, 'Without a key the answer is 401. ', make('a', { href: '#api-key' }, 'Enter your API key'), '.'),
    make('div', { class: 'actions' }, execute, next, place.status));
  let nextPage = null;

  async function run() {
    if (!isEnabled(execute)) return;
    const hadFocus = document.activeElement;
    place.clear();
    next.hidden = true;
    if (!fields.check()) return;
    enable(execute, false);
    place.status.textContent = 'Sending…';
    const key = storedKey();
    try {
      const answer = await send(request(), key);
      // What a key was answered goes with the key.
      if (key && !storedKey()) return place.clear();
      nextPage = nextQuery(answer.headers);
      next.hidden = nextPage === null;
      place.show(answer);
      onAnswer(answer);
    } catch (failure) {
      place.fail(failure.message);
    } finally {
      enable(execute, true);
    }
    // The button that was pressed may be gone, and the focus must not go with it.
    if (hadFocus === next && next.hidden) place.focus();
    else if (hadFocus === next) next.focus();
  }

  form.addEventListener('input', draw);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    run();
  });
  next.addEventListener('click', () => {
    fields.fill(nextPage);
    draw();
    run();
  });
  answers.add(() => {
    place.clear();
    next.hidden = true;
  });
  draw();
  return [title, shown.element, form, place.element];
}

/** Where the answer of an operation is shown, and the line that says how the request went. */
function answerPlace(operation) {
  const status = make('p', { class: 'hint sent', role: 'status' });
  const heading = make('h4', { tabindex: '-1' }, 'Answer');
  const content = make('div', { class: 'answer-content' });
  const element = make('section', { class: 'answer', 'aria-label': `Answer of ${operation.id}`, hidden: true }, heading, content);
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
    show(answer) {
      content.replaceChildren(...answerElements(answer));
      element.hidden = false;
      status.textContent = `Answered ${answer.status} ${answer.statusText}`.trim();
    },
    fail(message) {
      status.textContent = message;
      status.classList.add('fault');
    },
  };
}
