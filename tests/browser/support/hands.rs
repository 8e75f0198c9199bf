//! Actions of a person on a page, and what the person sees.

use serde_json::json;
use thirtyfour::{By, WebElement, prelude::TypingData};

use super::{browser::Browser, wait};

impl Browser {
    /// Waits for the element of a selector to be visible, and returns it.
    #[track_caller]
    pub(crate) fn see(&self, selector: &str) -> WebElement {
        let mut seen = None;
        wait::until(&format!("{selector} is visible"), || {
            let find = self.driver().find(By::Css(selector));
            seen = self.runtime().block_on(find).ok();
            let displayed =
                seen.as_ref().map(|element| self.runtime().block_on(element.is_displayed()));
            matches!(displayed, Some(Ok(true)))
        });
        seen.unwrap()
    }

    /// Waits until a visible element of the selector contains this text.
    #[track_caller]
    pub(crate) fn reads(&self, selector: &str, text: &str) {
        let texts = format!("[...document.querySelectorAll({})]", json!(selector));
        let shown = "e.checkVisibility() && e.innerText.includes";
        self.until(&format!("{texts}.some(e => {shown}({}))", json!(text)));
    }

    /// Returns the text of the element of a selector.
    #[track_caller]
    pub(crate) fn text(&self, selector: &str) -> String {
        self.ask(self.see(selector).text())
    }

    /// Clicks an element like a mouse, once nothing covers it.
    #[track_caller]
    pub(crate) fn click(&self, selector: &str) {
        let mut error = None;
        wait::until(&format!("{selector} takes a click"), || {
            let element = self.see(selector);
            error = self.runtime().block_on(element.click()).err();
            error.is_none()
        });
    }

    /// Clicks twice. The browser counts this as a double click, however much time passes between the clicks.
    #[track_caller]
    pub(crate) fn double_click(&self, selector: &str) {
        self.ask(self.see(selector).scroll_into_view());
        self.click_again(selector, 1);
        self.click_again(selector, 2);
    }

    /// Sends a click with this click count: 2 is the second click of a double click.
    #[track_caller]
    pub(crate) fn click_again(&self, selector: &str, number: u8) {
        let place = self.ask(self.see(selector).rect());
        let (x, y) = (place.x + place.width / 2.0, place.y + place.height / 2.0);
        let y = y - self.value("scrollY").as_f64().unwrap();
        for kind in ["mousePressed", "mouseReleased"] {
            let click =
                json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": number });
            self.devtools("Input.dispatchMouseEvent", click);
        }
    }

    /// Replaces the text of an input, key by key.
    #[track_caller]
    pub(crate) fn fill(&self, selector: &str, text: &str) {
        let input = self.see(selector);
        self.ask(input.clear());
        self.ask(input.send_keys(text));
    }

    /// Presses keys at the focus.
    pub(crate) fn press(&self, keys: impl Into<TypingData>) {
        self.ask(self.driver().action_chain().send_keys(keys).perform());
    }

    /// Copies to `window.copied` instead of the clipboard from now on.
    pub(crate) fn watch_clipboard(&self) {
        self.js("Object.defineProperty(navigator, 'clipboard', { configurable: true, value: {
             writeText: async text => { window.copied = text } } })");
    }

    /// Moves the focus and the scroll position to the start of the page, as after a load.
    pub(crate) fn focus_nothing(&self) {
        self.js("document.body.tabIndex = -1; document.body.focus();
             document.body.removeAttribute('tabindex'); scrollTo(0, 0);");
    }
}
