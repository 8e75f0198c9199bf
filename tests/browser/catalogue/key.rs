//! The key: how it comes, where it lies, how it goes.

use petstore_testing::needs;
use serde_json::json;
use thirtyfour::Key;

use crate::support::{KEY, zoo::Zoo};

#[needs(chromium)]
#[test]
fn a_wrong_key_is_refused_in_the_words_of_the_service() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = &zoo.browser;
    browser.go(&zoo.page("/catalogue"));
    browser.fill("#key", "wrong-key-wrong-key");
    browser.click("#key-send");
    let message = zoo.client().get("/v1/pets").key("wrong-key-wrong-key").send().is(401);
    let message = message.json()["message"].as_str().unwrap().to_owned();
    browser.reads("#key-error", &message);
    assert_eq!(browser.value("key.ariaInvalid"), "true");
    assert_eq!(browser.value("document.activeElement.id"), "key");
    assert_eq!(browser.value("sessionStorage.length"), 0);
    assert_eq!(browser.value("document.getElementById('catalogue').hidden"), true);

    browser.fill("#key", KEY);
    browser.press(Key::Enter);
    browser.see("#catalogue");
    assert_eq!(browser.value("document.getElementById('entrance').hidden"), true);
}

#[needs(chromium)]
#[test]
fn what_cannot_be_a_key_is_not_sent() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = &zoo.browser;
    browser.go(&zoo.page("/catalogue"));
    browser.requests();
    for (typed, fault) in [(" ", "Enter an API key"), ("schlüssel", "beyond ASCII")] {
        browser.fill("#key", typed);
        browser.click("#key-send");
        browser.reads("#key-error", fault);
    }
    let requests = browser.requests();
    assert!(requests.iter().all(|request| !request.url.contains("/v1/")), "{requests:?}");
}

#[needs(chromium)]
#[test]
fn the_key_lies_in_the_storage_of_the_tab_alone() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(1);
    let browser = zoo.enter("/catalogue");
    assert_eq!(browser.value("Object.values(sessionStorage)"), json!([KEY]));
    assert_eq!(browser.value("localStorage.length"), 0);
    assert_eq!(browser.value("document.cookie"), "");
    assert_eq!(browser.value("key.value"), "");
    assert!(!browser.value("document.documentElement.outerHTML").to_string().contains(KEY));
    assert!(!browser.url().contains(KEY));

    browser.reload();
    browser.reads("#rows", "pet 1");
    browser.click("#forget");
    browser.see("#key");
    assert_eq!(browser.value("sessionStorage.length"), 0);
    assert!(!browser.value("document.body.textContent").to_string().contains("pet 1"));
    browser.reload();
    browser.see("#key");
}

#[needs(chromium)]
#[test]
fn the_key_can_be_looked_at_while_it_is_typed() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = &zoo.browser;
    browser.go(&zoo.page("/catalogue"));
    browser.fill("#key", KEY);
    for (kind, pressed) in [("password", "false"), ("text", "true"), ("password", "false")] {
        assert_eq!(browser.value("key.type"), kind);
        assert_eq!(browser.value("document.getElementById('key-show').ariaPressed"), pressed);
        browser.click("#key-show");
    }
}

#[needs(chromium)]
#[test]
fn a_browser_that_forbids_storage_keeps_the_key_as_long_as_the_page() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(1);
    let forbid = "Object.defineProperty(window, 'sessionStorage', { get() { throw new Error() } })";
    let forbid = json!({ "source": forbid });
    zoo.browser.devtools("Page.addScriptToEvaluateOnNewDocument", forbid);
    let browser = zoo.enter("/catalogue");
    browser.click("#refresh");
    browser.reads("#rows", "pet 1");
    browser.reload();
    browser.see("#key");
}
