// What the document says about an operation beside what it does: stability, its end, and whether it
// may be tried here.

const HIDDEN = 'x-hideTryItPanel';

/** `2030-12-05` as people write it. */
function day(date) {
  const parsed = new Date(`${date}T00:00:00Z`);
  if (Number.isNaN(parsed.getTime())) return date;
  return parsed.toLocaleDateString('en-GB', {
    day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC',
  });
}

/** The marks of an operation: a kind, which gives the colour, and a text. */
function marks(operation) {
  const found = [];
  const stability = operation['x-stability'];
  const sunset = operation['x-deprecated-sunset'];
  if (stability) found.push({ kind: stability, text: stability });
  if (operation.deprecated) {
    found.push({ kind: 'deprecated', text: sunset ? `deprecated, removed on ${day(sunset)}` : 'deprecated' });
  }
  if (operation[HIDDEN]) found.push({ kind: 'closed', text: 'no try-out' });
  return found;
}

export const marksPlugin = (source) => ({ React }) => {
  const h = React.createElement;
  const operation = (path, method) => source.paths?.[path]?.[method] ?? {};
  const isClosed = (path, method) => operation(path, method)[HIDDEN] === true;

  const withMarks = (Original) => (props) => {
    const { path, method } = props.operationProps.toObject();
    const badges = marks(operation(path, method)).map(({ kind, text }) =>
      h('span', { key: kind, className: `mark mark-${kind}` }, text));
    return h(
      React.Fragment,
      null,
      h(Original, props),
      badges.length > 0 && h('span', { className: 'marks' }, badges),
    );
  };

  const withReason = (Original) => (props) => h(
    React.Fragment,
    null,
    isClosed(...props.pathMethod) &&
      h('p', { className: 'closed-reason' }, 'The try-out of this operation is switched off.'),
    h(Original, props),
  );

  return {
    statePlugins: {
      spec: {
        wrapSelectors: {
          allowTryItOutFor: (original) => (state, path, method) =>
            !isClosed(path, method) && original(state, path, method),
        },
      },
    },
    wrapComponents: { OperationSummaryPath: withMarks, parameters: withReason },
  };
};
