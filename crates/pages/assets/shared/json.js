// JSON with exact integers. JavaScript rounds an int64 above 2^53, so the page works on the tokens of the text.

const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s"[\]{}:,]+/g;
const NUMBER_OR_STRING = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const STEP = '  ';

/** Returns whether JavaScript would round an integer. */
const isRounded = (number) => /^-?\d+$/.test(number) && !Number.isSafeInteger(Number(number));

/** Parses JSON. A number for which `isText` returns `true` becomes a string of its digits. */
export const parse = (json, isText = isRounded) => JSON.parse(json.replace(NUMBER_OR_STRING,
  (token) => (token[0] !== '"' && isText(token) ? `"${token}"` : token)));

/** Returns `json` on one line, with unchanged tokens. */
export function compact(json) {
  const tokens = json.match(TOKEN) ?? [];
  return tokens.map((token) => (token === ',' || token === ':' ? `${token} ` : token)).join('');
}

/** Returns `json` on several lines, with unchanged tokens. */
export function indented(json) {
  let depth = 0;
  let text = '';
  let before = '';
  const line = () => `\n${STEP.repeat(depth)}`;
  for (const token of json.match(TOKEN) ?? []) {
    const closes = '}]'.includes(token);
    if (closes) depth -= 1;
    const isEmpty = closes && '{['.includes(before);
    if (before && !isEmpty && (closes || '{[,'.includes(before))) text += line();
    text += token === ':' ? ': ' : token;
    if ('{['.includes(token)) depth += 1;
    before = token;
  }
  return text;
}
