// The catalogue page: lists, finds, counts and adds animals through the public interface.

import { $ } from '../shared/dom.js';
import { connectKey, onKeyGone } from '../shared/key.js';
import { storedKey } from '../shared/stored.js';
import { connectAdd } from './add.js';
import { connectCounts } from './counts.js';
import { connectFind } from './find.js';
import { connectList, openPlace } from './list.js';

connectList();
connectFind();
connectCounts();
connectAdd();
connectKey(openPlace);
onKeyGone(() => $('key').focus());
addEventListener('popstate', () => storedKey() && openPlace());
if (storedKey()) openPlace();
else $('key').focus();
