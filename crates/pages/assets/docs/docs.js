// Shows the OpenAPI document of this service with Swagger UI, and adds what it lacks.

import { forPage } from './document.js';
import { exactPlugin } from './exact.js';
import { keyboardPlugin } from './keyboard.js';
import { layoutPlugin } from './layout.js';
import { marksPlugin } from './marks.js';
import { keepNamed } from './names.js';
import { pagingPlugin } from './paging.js';

const SOURCE = '/openapi.json';

/** Swagger UI has its dark colours under a class; the system decides. */
function followColourScheme() {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const apply = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
  dark.addEventListener('change', apply);
  apply();
}

/** Where else the service is, for who wants to call it from elsewhere than this page. */
function tellServers(servers) {
  const others = (servers ?? []).filter((server) => /^https?:/.test(server.url));
  if (others.length === 0) return;
  const line = document.getElementById('elsewhere');
  line.append('This page calls the server that it came from. The service is reached at ');
  others.forEach(({ url, description }, index) => {
    const address = document.createElement('code');
    address.textContent = url;
    line.append(index === 0 ? '' : ' and ', address, description ? ` (${description})` : '');
  });
  line.append('.');
  line.hidden = false;
}

function fail(reason) {
  const notice = document.getElementById('failure');
  notice.textContent = `The operations cannot be shown: ${reason}. Reload the page to try again.`;
  notice.hidden = false;
}

function show(source) {
  const plugins = [layoutPlugin, marksPlugin(source), exactPlugin, pagingPlugin, keyboardPlugin];
  window.SwaggerUIBundle({
    spec: forPage(source),
    dom_id: '#reference',
    layout: 'ReferenceLayout',
    plugins,
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    persistAuthorization: false,
    syntaxHighlight: { theme: 'tomorrow-night' },
    tryItOutEnabled: true,
    validatorUrl: null,
  });
}

followColourScheme();
try {
  const answer = await fetch(SOURCE);
  if (!answer.ok) throw new Error(`${SOURCE} was answered ${answer.status}`);
  const source = await answer.json();
  tellServers(source.servers);
  keepNamed(document.getElementById('reference'));
  show(source);
} catch (error) {
  fail(error.message);
}
