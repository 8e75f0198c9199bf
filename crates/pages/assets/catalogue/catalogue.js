// The catalogue page: lists, finds, counts and adds animals through the public interface.

import { $ } from '../docs/shared/dom.js';
import { storedKey } from '../docs/shared/key.js';

import { connectAdd } from './add.js';
import { connectCounts } from './counts.js';
import { show } from './dom.js';
import { askForKey, connectEntrance } from './entrance.js';
import { connectFind } from './find.js';
import { connectList, openPlace } from './list.js';
import { leave } from './session.js';

function openCatalogue() {
  show($('entrance'), false);
  show($('catalogue'), true);
  show($('forget'), true);
  openPlace();
}

/** Moves the focus without the address, which holds the place in the list. */
function connectJumps() {
  for (const link of document.querySelectorAll('[data-jump]')) {
    link.addEventListener('click', (event) => {
      event.preventDefault();
      $(link.dataset.jump).focus();
      $(link.dataset.jump).scrollIntoView({ block: 'nearest' });
    });
  }
}

connectList();
connectFind();
connectCounts();
connectAdd();
connectEntrance(() => {
  openCatalogue();
  $('list-title').focus();
});
connectJumps();
addEventListener('popstate', () => storedKey() && openPlace());
// The browser may show the page as it was, after the key was forgotten on the other one.
addEventListener('pageshow', (event) => event.persisted && !storedKey() && leave());

if (storedKey()) openCatalogue();
else askForKey();
