// The parts of Swagger UI in the order of this page: the key, the operations, the schemas, and the
// text of the document for who wants to read on.

export const layoutPlugin = ({ React }) => {
  const h = React.createElement;

  function ReferenceLayout({ getComponent, specSelectors }) {
    const part = (name) => h(getComponent(name, true));
    const Markdown = getComponent('Markdown', true);
    const info = specSelectors.info();
    return h(
      'div',
      { className: 'swagger-ui' },
      h(getComponent('SvgAssets')),
      part('errors'),
      h(
        'section',
        { id: 'operations', 'aria-labelledby': 'operations-title' },
        h(
          'div',
          { className: 'heading' },
          h('h2', { id: 'operations-title' }, 'Operations'),
          part('AuthorizeBtnContainer'),
        ),
        part('operations'),
      ),
      h('section', { id: 'schemas', 'aria-label': 'Schemas' }, part('Models')),
      h(
        'section',
        { id: 'about', 'aria-labelledby': 'about-title' },
        h('h2', { id: 'about-title' }, `About this interface, version ${info.get('version')}`),
        h(Markdown, { source: info.get('description') ?? '' }),
      ),
    );
  }

  return {
    components: {
      ReferenceLayout,
      // The fields are open from the start, so there is nothing to switch.
      TryItOutButton: () => null,
      // A link inside the button of an operation; the button does the same.
      DeepLink: ({ text }) => h('span', null, text),
      // An icon for the mouse alone, which copies a path that is selected as easily.
      CopyToClipboardBtn: () => null,
    },
    wrapComponents: {
      // Every answer has a handful of headers: closed, or they would bury the rest.
      headers: (Original) => (props) =>
        props.headers?.size > 0 &&
        h('details', { className: 'headers-of' }, h('summary', null, 'Headers'), h(Original, props)),
      HighlightCode: (Original) => (props) => h(Original, { ...props, downloadable: false }),
    },
  };
};
