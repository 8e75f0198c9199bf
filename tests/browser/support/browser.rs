//! A browser for one test. A call that waits for something waits long enough for a slow machine.
//!
//! Chromium starts more slowly than most tests run, so tests use the same process one after the other. Each test has a
//! new tab and empty storage.

use std::{
    fs,
    path::PathBuf,
    process::Child,
    sync::{Mutex, PoisonError},
    thread,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use petstore_testing::find_program;
use serde_json::{Value, json};
use tempfile::TempDir;
use thirtyfour::{
    ChromeCapabilities, ChromiumLikeCapabilities as _, DesiredCapabilities, LoggingPrefsLogLevel,
    WebDriver, error::WebDriverResult,
};
use tokio::runtime::{Builder, Runtime};

use super::{chromedriver::Chromedriver, guard::guard, wait};

/// The flags of the browser. Some flags forbid all requests except the requests of the page.
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

const FINDERS: &str = "const $ = selector => document.querySelector(selector),
    $$ = selector => [...document.querySelectorAll(selector)];
";

/// The window size and the color scheme of a user.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// CSS pixels.
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) dark: bool,
}

/// A wide window, light.
pub(crate) const DESK: Look = Look { width: 1280, height: 800, dark: false };

/// A phone, light.
pub(crate) const PHONE: Look = Look { width: 390, height: 844, dark: false };

/// A tab of a headless Chromium.
pub(crate) struct Browser {
    test: String,
    /// `None` once the process is returned to the pool.
    chromium: Option<Chromium>,
}

/// A running Chromium.
struct Chromium {
    driver: WebDriver,
    runtime: Runtime,
    _chromedriver: Chromedriver,
    _profile: TempDir,
    _guard: Child,
}

/// Browsers that no test is using.
static IDLE: Mutex<Vec<Chromium>> = Mutex::new(Vec::new());

impl Browser {
    /// Returns a browser for the current test.
    #[track_caller]
    pub(crate) fn open() -> Self {
        let test = thread::current().name().unwrap_or("a test").to_owned();
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let chromium = idle.unwrap_or_else(Chromium::start);
        let browser = Self { test, chromium: Some(chromium) };
        browser.clear();
        browser.look(DESK);
        browser.requests();
        browser.complaints();
        browser
    }

    /// Replaces the tab by a new tab, and deletes all storage of pages.
    fn clear(&self) {
        let driver = self.driver();
        let tab = self.ask(driver.new_tab());
        self.ask(driver.close_window());
        self.ask(driver.switch_to_window(tab));
        self.devtools("Network.clearBrowserCookies", json!({}));
        self.devtools("Network.clearBrowserCache", json!({}));
        let everything = json!({ "origin": "*", "storageTypes": "all" });
        self.devtools("Storage.clearDataForOrigin", everything);
    }

    fn chromium(&self) -> &Chromium {
        self.chromium.as_ref().unwrap()
    }

    pub(super) fn runtime(&self) -> &Runtime {
        &self.chromium().runtime
    }

    pub(super) fn ask<T>(&self, answer: impl Future<Output = WebDriverResult<T>>) -> T {
        self.runtime().block_on(answer).unwrap()
    }

    pub(super) fn driver(&self) -> &WebDriver {
        &self.chromium().driver
    }

    /// Runs a command of the browser's developer tools.
    pub(crate) fn devtools(&self, method: &str, parameters: Value) -> Value {
        self.ask(self.driver().cdp().send_raw(method, parameters))
    }

    pub(crate) fn look(&self, look: Look) {
        let size = json!({ "width": look.width, "height": look.height, "deviceScaleFactor": 1,
            "mobile": look.width < 500 });
        self.devtools("Emulation.setDeviceMetricsOverride", size);
        let scheme = if look.dark { "dark" } else { "light" };
        // Moving elements would make two screenshots of one state differ.
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

    /// Returns the URL in the address bar.
    pub(crate) fn url(&self) -> String {
        self.ask(self.driver().current_url()).to_string()
    }

    /// Runs a function body in JavaScript and returns its value. `$` finds an element, `$$` finds all that match.
    pub(crate) fn js(&self, body: &str) -> Value {
        let script = format!("{FINDERS}{body}");
        let answer = self.runtime().block_on(self.driver().execute(&script, []));
        answer.unwrap_or_else(|error| panic!("{error}: {body}")).json().clone()
    }

    /// Returns the value of a JavaScript expression.
    pub(crate) fn value(&self, expression: &str) -> Value {
        self.js(&format!("return ({expression});"))
    }

    /// Asserts that a JavaScript expression has this value.
    #[track_caller]
    pub(crate) fn is(&self, expression: &str, expected: impl Into<Value>) {
        assert_eq!(self.value(expression), expected.into(), "{expression}");
    }

    /// Asserts that the focus is on the element with this id.
    #[track_caller]
    pub(crate) fn focus_is_on(&self, id: &str) {
        self.is("document.activeElement.id", id);
    }

    /// Polls until a JavaScript expression is true.
    #[track_caller]
    pub(crate) fn until(&self, expression: &str) {
        wait::until(expression, || self.value(&format!("!!({expression})")) == true);
    }

    /// Saves a screenshot of the window and returns its path.
    pub(crate) fn screenshot(&self, name: &str) -> PathBuf {
        let shot = self.devtools("Page.captureScreenshot", json!({}));
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
        let idle = self.chromium.take().filter(|_| !thread::panicking());
        // The browser of a failed test is dropped here, with the guard that ends its processes.
        IDLE.lock().unwrap_or_else(PoisonError::into_inner).extend(idle);
    }
}

impl Chromium {
    fn start() -> Self {
        let chromedriver = Chromedriver::start();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let profile = tempfile::tempdir().unwrap();
        let guard = guard(&format!("-{}", chromedriver.pid()), profile.path());
        let wishes = wishes(&profile).unwrap();
        let driver = runtime.block_on(WebDriver::new(&chromedriver.url, wishes)).unwrap();
        // The default of a minute is too short for the first page on a busy machine.
        runtime.block_on(driver.set_page_load_timeout(wait::LIMIT)).unwrap();
        Self { driver, runtime, _chromedriver: chromedriver, _profile: profile, _guard: guard }
    }
}

/// Returns the capabilities of a browser that has a profile of its own and logs its messages and requests.
fn wishes(profile: &TempDir) -> WebDriverResult<ChromeCapabilities> {
    let mut wishes = DesiredCapabilities::chrome();
    let program = find_program("chromium").unwrap();
    wishes.set_binary(program.to_str().unwrap())?;
    for flag in FLAGS {
        wishes.add_arg(flag)?;
    }
    wishes.add_arg(&format!("--user-data-dir={}", profile.path().display()))?;
    wishes.set_logging_prefs("browser", LoggingPrefsLogLevel::All)?;
    wishes.set_logging_prefs("performance", LoggingPrefsLogLevel::All)?;
    Ok(wishes)
}
