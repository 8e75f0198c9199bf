// Shows the JSON of an answer as it was sent. Swagger UI reads it first, and JavaScript rounds an
// int64 above 2^53 when it reads it.

const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s"[\]{}:,]+/g;
const STEP = '  ';

/** `json` on several lines, with every token as it is. */
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

export const exactPlugin = ({ React }) => {
  const h = React.createElement;

  const withTokens = (Original) => (props) => {
    const { content, contentType, getComponent } = props;
    if (typeof content !== 'string' || !/json/i.test(contentType)) return h(Original, props);
    const code = { language: 'json', canCopy: true };
    return h(
      'div',
      null,
      h('h5', null, 'Response body'),
      h(getComponent('HighlightCode', true), code, indented(content)),
    );
  };

  return { wrapComponents: { responseBody: withTokens } };
};
