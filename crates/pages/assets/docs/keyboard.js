// Makes the form for the key a dialog: it has a name, keeps the focus, and gives it back.

const FOCUSABLE = 'button:not([disabled]), input:not([disabled]), a[href]';

export const keyboardPlugin = ({ React }) => {
  const h = React.createElement;

  const asDialog = (Original) => class extends React.Component {
    constructor(props) {
      super(props);
      this.frame = React.createRef();
      this.opener = document.activeElement;
      this.keepFocus = this.keepFocus.bind(this);
    }

    componentDidMount() {
      const frame = this.frame.current;
      frame.querySelector('.close-modal')?.setAttribute('aria-label', 'Close');
      this.takeFocus();
      // The field for the key goes when the key is taken, and the focus would go with it.
      this.changes = new MutationObserver(() => {
        if (!frame.contains(document.activeElement)) this.takeFocus();
      });
      this.changes.observe(frame, { childList: true, subtree: true });
    }

    takeFocus() {
      const frame = this.frame.current;
      (frame.querySelector('input') ?? frame.querySelector('.btn-done')).focus();
    }

    componentWillUnmount() {
      this.changes.disconnect();
      this.opener?.focus?.();
    }

    keepFocus(event) {
      if (event.key !== 'Tab') return;
      const reachable = [...this.frame.current.querySelectorAll(FOCUSABLE)];
      const [first, last] = [reachable[0], reachable.at(-1)];
      const leaving = event.shiftKey ? first : last;
      if (document.activeElement === leaving) {
        event.preventDefault();
        (event.shiftKey ? last : first).focus();
      }
    }

    render() {
      const frame = {
        ref: this.frame,
        role: 'dialog',
        'aria-modal': true,
        'aria-label': 'API key',
        onKeyDown: this.keepFocus,
      };
      return h('div', frame, h(Original, this.props));
    }
  };

  return { wrapComponents: { authorizationPopup: asDialog } };
};
