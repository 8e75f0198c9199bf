// A button under a list that asks for its next page, as the `Link` header of the answer says.

/** The query of the link with the relation `next`, if there is one. */
function nextQuery(response) {
  const link = response.getIn(['headers', 'link']) ?? '';
  const target = /<([^>]*)>\s*;\s*rel="next"/.exec(link)?.[1];
  return target && new URL(target, location.origin).searchParams;
}

export const pagingPlugin = ({ React, specActions, specSelectors }) => {
  const h = React.createElement;

  /** Fills the fields of the operation with `query`, and sends it. */
  function ask(path, method, query) {
    const operation = specSelectors.specResolvedSubtree(['paths', path, method]);
    for (const parameter of operation.get('parameters')) {
      if (parameter.get('in') === 'query') {
        const value = query.get(parameter.get('name')) ?? '';
        specActions.changeParamByIdentity([path, method], parameter, value, false);
      }
    }
    specActions.execute({ operation, path, method });
  }

  const withNextPage = (Original) => (props) => {
    const { path, method, response } = props;
    const next = nextQuery(response);
    return h(
      React.Fragment,
      null,
      next &&
        h(
          'div',
          { className: 'paging' },
          h('p', null, 'There are more animals: the Link header has the next page.'),
          h(
            'button',
            { type: 'button', className: 'btn next-page', onClick: () => ask(path, method, next) },
            'Next page',
          ),
        ),
      h(Original, props),
    );
  };

  return { wrapComponents: { liveResponse: withNextPage } };
};
