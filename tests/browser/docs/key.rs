//! The key: it is checked, kept for the tab, shared with the catalogue, and forgotten.

use petstore_testing::needs;
use serde_json::json;

use super::{LIST, authorize, execute, has_answer, visit};
use crate::support::{KEY, store::Store, wait, zoo::Zoo};

#[needs(chromium)]
#[test]
fn a_wrong_key_is_refused() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = visit(&zoo);
    browser.fill("#key", "wrong-key-wrong-key");
    browser.click("#key-send");
    browser.reads("#key-error", "This key is not accepted: revoked, expired or mistyped.");
    assert_eq!(browser.value("document.activeElement.id"), "key");
    assert_eq!(browser.value("document.getElementById('key').ariaInvalid"), "true");
    assert_eq!(browser.value("sessionStorage.length"), 0);
    assert_eq!(browser.value("document.getElementById('key-state').textContent"), "");

    authorize(browser, KEY);
    let error = browser.value("document.getElementById('key-error').checkVisibility()");
    assert_eq!(error, false);
}

#[needs(chromium)]
#[test]
fn the_key_outlives_a_reload_and_is_the_one_of_the_catalogue() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(1);
    let browser = visit(&zoo);
    authorize(browser, KEY);
    assert_eq!(browser.value("Object.values(sessionStorage)"), json!([KEY]));
    assert_eq!(browser.value("localStorage.length"), 0);
    assert_eq!(browser.value("document.cookie"), "");
    assert!(!browser.value("document.documentElement.outerHTML").to_string().contains(KEY));
    assert_eq!(browser.value("document.getElementById('key').value"), "");
    assert!(!browser.url().contains(KEY));
    browser.reload();
    browser.reads("#key-state", "accepted");
    execute(browser, LIST, 200);
    browser.go(&zoo.page("/catalogue"));
    browser.reads("#rows", "pet 1");
}

#[needs(chromium)]
#[test]
fn the_key_of_the_catalogue_is_the_one_of_the_reference() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.enter("/catalogue");
    let browser = visit(&zoo);
    browser.reads("#key-state", "accepted");
    execute(browser, LIST, 200);
}

#[needs(chromium)]
#[test]
fn a_button_forgets_the_key_and_what_it_was_answered() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = visit(&zoo);
    authorize(browser, KEY);
    execute(browser, LIST, 200);
    browser.click("#forget");
    browser.reads("#key-state", "forgotten");
    assert_eq!(browser.value("sessionStorage.length"), 0);
    assert!(!has_answer(browser, LIST));
    assert_eq!(browser.value("document.activeElement.id"), "key");
    execute(browser, LIST, 401);
    browser.reload();
    browser.see("#key");
}

#[needs(chromium)]
#[test]
fn a_key_that_is_revoked_is_no_longer_called_accepted() {
    let Some(zoo) = Zoo::on_or_skip(Store::sqlite()) else { return };
    let key = zoo.store.new_key("for-the-browser");
    let status = || zoo.client().get("/v1/pets").key(&key).send().status;
    // The server takes notice of either within a second.
    wait::until("the server takes the key", || status() == 200);
    let browser = visit(&zoo);
    authorize(browser, &key);
    zoo.store.keys(&["revoke", "for-the-browser"]).succeeds();
    wait::until("the server no longer takes the key", || status() == 401);
    execute(browser, LIST, 401);
    browser.reads("#key-error", "no longer accepted");
    assert_eq!(browser.value("sessionStorage.length"), 0);
}
