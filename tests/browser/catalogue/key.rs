//! The key: how it comes, where it lies, how it goes.

use petstore_testing::needs;
use serde_json::json;
use thirtyfour::Key;

use crate::support::{KEY, store::Store, wait, zoo::Zoo};

#[needs(chromium)]
#[test]
fn a_wrong_key_is_refused_and_another_one_taken() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = &zoo.browser;
    browser.go(&zoo.page("/catalogue"));
    browser.reads("#key-hint", "petstore keys create NAME");
    assert_eq!(browser.value("key.placeholder"), "pst_…");
    browser.fill("#key", "wrong-key-wrong-key");
    browser.click("#key-send");
    browser.reads("#key-error", "This key is not accepted: revoked, expired or mistyped.");
    assert_eq!(browser.value("key.ariaInvalid"), "true");
    assert_eq!(browser.value("document.activeElement.id"), "key");
    assert_eq!(browser.value("sessionStorage.length"), 0);
    assert_eq!(browser.value("document.getElementById('catalogue').checkVisibility()"), false);

    browser.fill("#key", KEY);
    browser.press(Key::Enter);
    browser.see("#catalogue");
    assert_eq!(browser.value("document.getElementById('entrance').checkVisibility()"), false);
}

/// A key that the service has made, and whatever it tells by its check sum. The same key is in the tests of
/// `petstore-domain`.
const WHOLE: &str = "pst_flDIBkGwcRKRL9GXCgaFM3UNu2jQTClj0eXusv";

#[needs(chromium)]
#[test]
fn what_cannot_be_a_key_is_not_sent_and_whatever_may_be_one_is() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = &zoo.browser;
    browser.go(&zoo.page("/catalogue"));
    browser.requests();
    let (cut, long) = (&WHOLE[..30], format!("{WHOLE}x"));
    let mistyped = WHOLE.replace("GXC", "GXc");
    for (typed, fault) in [
        (" ", "Enter an API key"),
        ("schlüssel", "beyond ASCII"),
        (cut, "This key is incomplete: it has 30 characters of 42."),
        ("pst_", "it has 4 characters of 42"),
        (&long, "This key is too long: it has 43 characters instead of 42."),
        (&mistyped, "This key is mistyped"),
        (&WHOLE.replace("pst_", "psr_"), "This key is mistyped"),
    ] {
        browser.fill("#key", typed);
        browser.click("#key-send");
        browser.reads("#key-error", fault);
    }
    let requests = browser.requests();
    assert!(requests.iter().all(|request| !request.url.contains("/v1/")), "{requests:?}");
    // The key of the operator has any form.
    for typed in [WHOLE, "pst_0123456789_and-more!", "psx_0123456789abcdef"] {
        browser.fill("#key", typed);
        browser.click("#key-send");
        browser.reads("#key-error", "not accepted");
        assert_eq!(browser.requests().len(), 1, "{typed}");
    }
}

#[needs(chromium)]
#[test]
fn a_key_that_may_only_read_says_so_at_once_and_adds_nothing() {
    let Some(zoo) = Zoo::on_or_skip(Store::sqlite()) else { return };
    let made = zoo.store.keys(&["create", "reader", "--read-only"]).succeeds();
    let key = made.split_whitespace().find(|word| word.starts_with("psr_")).unwrap();
    wait::until("the server takes the key", || {
        zoo.client().get("/v1/pets").key(key).send().status == 200
    });
    let browser = &zoo.browser;
    browser.go(&zoo.page("/catalogue"));
    browser.fill("#key", key);
    browser.press(Key::Enter);
    browser.reads("header", "Read-only key");
    browser.reads(".adder", "This key may only read.");
    assert_eq!(browser.value("document.getElementById('add').checkVisibility()"), false);
    browser.go(&zoo.page("/docs"));
    browser.reads("#key-state", "It may only read: adding an animal is answered 403.");
    browser.reads("#createPet .try", "Your key may only read: the response is 403.");
    browser.click("#forget");
    browser.until("!document.querySelector('#createPet .reading').checkVisibility()");
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
