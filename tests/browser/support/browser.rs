//! A browser of a test's own. Whatever it is asked for, it waits for, as long as a slow machine may
//! need.

use std::{fs, path::PathBuf, thread};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use petstore_testing::or_skip_without;
use serde_json::{Value, json};
use tempfile::TempDir;
use thirtyfour::{
    By, ChromeCapabilities, ChromiumLikeCapabilities as _, DesiredCapabilities,
    LoggingPrefsLogLevel, WebDriver, WebElement, error::WebDriverResult, prelude::TypingData,
};
use tokio::runtime::{Builder, Runtime};

use super::{
    chromedriver::{Chromedriver, on_path},
    wait,
};

/// How the browser is started. It asks nobody for anything but what a page asks for.
const FLAGS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

/// What a page may look like to its reader.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// CSS pixels.
    pub(crate) width: u32,
    pub(crate) dark: bool,
}

/// A wide window in daylight.
pub(crate) const DESK: Look = Look { width: 1280, dark: false };

/// A phone at daylight.
pub(crate) const PHONE: Look = Look { width: 390, dark: false };

/// A headless Chromium, with one tab.
pub(crate) struct Browser {
    test: String,
    /// `None` once it has been asked to end.
    pub(super) driver: Option<WebDriver>,
    runtime: Runtime,
    _chromedriver: Chromedriver,
    _profile: TempDir,
}

impl Browser {
    /// A new browser for the test that runs; `None` without Chromium.
    #[track_caller]
    pub(crate) fn open_or_skip() -> Option<Self> {
        let test = thread::current().name().unwrap_or("a test").to_owned();
        let need = "Chromium (Debian's packages chromium and chromium-driver)";
        let chromedriver = or_skip_without(need, &test, Chromedriver::start())?;
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let profile = tempfile::tempdir().unwrap();
        let wishes = wishes(&profile).unwrap();
        let driver = runtime.block_on(WebDriver::new(&chromedriver.url, wishes)).unwrap();
        let driver = Some(driver);
        let browser =
            Self { test, driver, runtime, _chromedriver: chromedriver, _profile: profile };
        browser.look(DESK);
        // The browser's own first page is no concern of a test.
        browser.go("about:blank");
        browser.requests();
        Some(browser)
    }

    pub(super) fn ask<T>(&self, answer: impl Future<Output = WebDriverResult<T>>) -> T {
        self.runtime.block_on(answer).unwrap()
    }

    pub(super) fn driver(&self) -> &WebDriver {
        self.driver.as_ref().unwrap()
    }

    /// A command of the developer tools of the browser.
    pub(crate) fn devtools(&self, method: &str, parameters: Value) -> Value {
        self.ask(self.driver().cdp().send_raw(method, parameters))
    }

    pub(crate) fn look(&self, look: Look) {
        let size = json!({ "width": look.width, "height": 900, "deviceScaleFactor": 1,
            "mobile": look.width < 500 });
        self.devtools("Emulation.setDeviceMetricsOverride", size);
        let scheme = if look.dark { "dark" } else { "light" };
        // What moves would look different in each picture.
        let wishes = json!([{ "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": "reduce" }]);
        self.devtools("Emulation.setEmulatedMedia", json!({ "features": wishes }));
    }

    pub(crate) fn go(&self, url: &str) {
        self.ask(self.driver().goto(url));
    }

    pub(crate) fn back(&self) {
        self.ask(self.driver().back());
    }

    pub(crate) fn reload(&self) {
        self.ask(self.driver().refresh());
    }

    /// What is in the address line.
    pub(crate) fn url(&self) -> String {
        self.ask(self.driver().current_url()).to_string()
    }

    /// What a function body in JavaScript returns.
    pub(crate) fn js(&self, body: &str) -> Value {
        let answer = self.runtime.block_on(self.driver().execute(body, []));
        answer.unwrap_or_else(|error| panic!("{error}: {body}")).json().clone()
    }

    /// The value of a JavaScript expression.
    pub(crate) fn value(&self, expression: &str) -> Value {
        self.js(&format!("return ({expression});"))
    }

    /// Polls until a JavaScript expression is true.
    #[track_caller]
    pub(crate) fn until(&self, expression: &str) {
        wait::until(expression, || self.value(&format!("!!({expression})")) == true);
    }

    /// The element that a selector finds, once it is shown.
    #[track_caller]
    pub(crate) fn see(&self, selector: &str) -> WebElement {
        let mut seen = None;
        wait::until(selector, || {
            let find = self.driver().find(By::Css(selector));
            seen = self.runtime.block_on(find).ok();
            let displayed =
                seen.as_ref().map(|element| self.runtime.block_on(element.is_displayed()));
            matches!(displayed, Some(Ok(true)))
        });
        seen.unwrap()
    }

    /// Waits until a selector finds something shown with this text in it.
    #[track_caller]
    pub(crate) fn reads(&self, selector: &str, text: &str) {
        let texts = format!("[...document.querySelectorAll({})]", json!(selector));
        let shown = "e.checkVisibility() && e.innerText.includes";
        self.until(&format!("{texts}.some(e => {shown}({}))", json!(text)));
    }

    /// The text of the element that a selector finds.
    #[track_caller]
    pub(crate) fn text(&self, selector: &str) -> String {
        self.ask(self.see(selector).text())
    }

    /// Clicks as a mouse does, where the element is on the screen, once nothing covers it.
    #[track_caller]
    pub(crate) fn click(&self, selector: &str) {
        let mut trouble = None;
        wait::until(&format!("{selector} takes a click"), || {
            let element = self.see(selector);
            trouble = self.runtime.block_on(element.click()).err();
            trouble.is_none()
        });
    }

    /// Two clicks as fast as a mouse makes them.
    #[track_caller]
    pub(crate) fn double_click(&self, selector: &str) {
        let element = self.see(selector);
        self.ask(element.scroll_into_view());
        self.ask(self.driver().action_chain().double_click_element(&element).perform());
    }

    /// The second click of a double click whose first one was long enough ago to have been answered.
    #[track_caller]
    pub(crate) fn late_second_click(&self, selector: &str) {
        let place = self.ask(self.see(selector).rect());
        let click = |kind: &str| {
            let (x, y) = (place.x + place.width / 2.0, place.y + place.height / 2.0);
            let y = y - self.value("scrollY").as_f64().unwrap();
            let click = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 2 });
            self.devtools("Input.dispatchMouseEvent", click);
        };
        click("mousePressed");
        click("mouseReleased");
    }

    /// Puts `text` in place of what an input holds, key by key.
    #[track_caller]
    pub(crate) fn fill(&self, selector: &str, text: &str) {
        let input = self.see(selector);
        self.ask(input.clear());
        self.ask(input.send_keys(text));
    }

    /// Presses keys where the focus is.
    pub(crate) fn press(&self, keys: impl Into<TypingData>) {
        self.ask(self.driver().action_chain().send_keys(keys).perform());
    }

    /// Puts the focus to where it is when a page has been opened and nothing has been pressed.
    pub(crate) fn focus_nothing(&self) {
        self.js("document.body.tabIndex = -1; document.body.focus();
             document.body.removeAttribute('tabindex'); scrollTo(0, 0);");
    }

    /// Saves a picture of the whole page: its path.
    pub(crate) fn screenshot(&self, name: &str) -> PathBuf {
        let shot =
            self.devtools("Page.captureScreenshot", json!({ "captureBeyondViewport": true }));
        let png = STANDARD.decode(shot["data"].as_str().unwrap()).unwrap();
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("screenshots");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("{name}.png"));
        fs::write(&path, png).unwrap();
        path
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if thread::panicking() {
            let path = self.screenshot(&format!("failed-{}", self.test.replace("::", "-")));
            eprintln!("what the failed test saw: {}", path.display());
        }
        // Chromedriver takes the browser with it.
        if let Some(driver) = self.driver.take() {
            let _ = self.runtime.block_on(driver.quit());
        }
    }
}

/// A browser with a profile of its own, which writes down what it says and whom it asks.
fn wishes(profile: &TempDir) -> WebDriverResult<ChromeCapabilities> {
    let mut wishes = DesiredCapabilities::chrome();
    let program = on_path("chromium").unwrap();
    wishes.set_binary(program.to_str().unwrap())?;
    for flag in FLAGS {
        wishes.add_arg(flag)?;
    }
    wishes.add_arg(&format!("--user-data-dir={}", profile.path().display()))?;
    wishes.set_logging_prefs("browser", LoggingPrefsLogLevel::All)?;
    wishes.set_logging_prefs("performance", LoggingPrefsLogLevel::All)?;
    Ok(wishes)
}
