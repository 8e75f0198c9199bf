//! The API key on both pages: its form, its storage, and its end.

use petstore_testing::needs;
use serde_json::json;

use super::list::shows;
use crate::{
    docs::{LIST, authorize, execute, has_answer},
    states::{add, fill_in},
    support::{KEY, store::Store, zoo::Zoo},
};

/// A well-formed key with the right checksum. The tests of `petstore-domain` use the same key.
const WHOLE: &str = "pst_flDIBkGwcRKRL9GXCgaFM3UNu2jQTClj0eXusv";

#[needs(chromium)]
#[test]
fn a_key_with_an_obvious_fault_is_not_sent() {
    let zoo = Zoo::open();
    let browser = zoo.visit("/catalogue", "");
    browser.requests();
    let mistyped = WHOLE.replace("GXC", "GXc");
    for (typed, fault) in [
        (" ", "Enter an API key"),
        ("schlüssel", "beyond ASCII"),
        (&WHOLE[..30], "This key is incomplete: it has 30 characters of 42."),
        ("pst_", "it has 4 characters of 42"),
        (&format!("{WHOLE}x"), "This key is too long: it has 43 characters instead of 42."),
        (&mistyped, "This key is mistyped"),
        (&WHOLE.replace("pst_", "psr_"), "This key is mistyped"),
    ] {
        zoo.enter_key(typed).reads("#key-error", fault);
    }
    let requests = browser.requests();
    assert!(requests.iter().all(|request| !request.url.contains("/v1/")), "{requests:?}");
    // The key of the operator may have any form.
    for typed in [WHOLE, "pst_0123456789_and-more!", "psx_0123456789abcdef"] {
        zoo.enter_key(typed).reads("#key-error", "not accepted");
        assert_eq!(browser.requests().len(), 1, "{typed}");
    }
    // The button shows the key while it is typed.
    for (kind, pressed) in [("password", "false"), ("text", "true"), ("password", "false")] {
        browser.is("key.type", kind);
        browser.is("$('#key-show').ariaPressed", pressed);
        browser.click("#key-show");
    }
}

#[needs(chromium)]
#[test]
fn the_key_is_stored_only_in_the_tab_and_both_pages_use_it() {
    let zoo = Zoo::with(1);
    for (entered, accepted, other) in
        [("/catalogue", "#rows tr", "/docs"), ("/docs", "#key-state", "/catalogue")]
    {
        let browser = zoo.visit(entered, "");
        zoo.enter_key(KEY).see(accepted);
        // The focus is on the heading, not on the button that forgets the key.
        browser.is("document.activeElement.tagName", "H1");
        browser.is("Object.values(sessionStorage)", json!([KEY]));
        browser.is("localStorage.length + document.cookie + key.value", "0");
        assert!(!browser.value("document.documentElement.outerHTML").to_string().contains(KEY));
        assert!(!browser.url().contains(KEY));
        browser.reload();
        browser.see(accepted);
        // Each page links to the other.
        browser.click(&format!("header a[href='{}']", &other[1..]));
        browser.reads(
            if other == "/docs" { "#key-state" } else { "#rows" },
            if other == "/docs" { "accepted" } else { "pet 1" },
        );
        assert!(browser.url().starts_with(&zoo.page(other)));
    }
    let browser = zoo.enter("/catalogue");
    browser.click("#forget");
    browser.focus_is_on("key");
    browser.is("sessionStorage.length", 0);
    assert!(!browser.value("document.body.textContent").to_string().contains("pet 1"));
    browser.is("document.title", "Catalogue – petstore");
    browser.reload();
    browser.see("#key");

    let browser = zoo.visit("/docs", "");
    authorize(browser, KEY);
    execute(browser, LIST, 200);
    browser.click("#forget");
    browser.reads("#key-state", "forgotten");
    browser.is("sessionStorage.length", 0);
    assert!(!has_answer(browser, LIST));
    browser.focus_is_on("key");
    execute(browser, LIST, 401);
    // If a browser forbids storage, the key is lost when the page is closed or reloaded.
    let forbid = "Object.defineProperty(window, 'sessionStorage', { get() { throw new Error() } })";
    browser.devtools("Page.addScriptToEvaluateOnNewDocument", json!({ "source": forbid }));
    browser.go(&zoo.page("/catalogue"));
    zoo.enter_key(KEY).click("#refresh");
    shows(browser, 1..=1);
    browser.reload();
    browser.see("#key");
}

#[needs(chromium)]
#[test]
fn a_revoked_key_leads_back_to_the_form_and_keeps_the_typed_text() {
    let zoo = Zoo::on(Store::sqlite());
    zoo.stock(1);
    let key = zoo.new_key(&["for-the-browser"]);
    let browser = zoo.enter_with("/catalogue", &key);
    // The outcome of the first animal is unknown, the answer about the second is on its way, and the third is typed.
    browser.lose_one_answer();
    add(browser, "Ada", "7");
    browser.reads("#add-failure", "It is not known whether “Ada” was added");
    browser.hold_answers("method === 'POST'");
    add(browser, "Rex", "7");
    browser.until("window.held === 1");
    fill_in(browser, "Max", "8");
    browser.js("$('#status').value = 'sold'");
    zoo.revoke("for-the-browser", &key);
    browser.click("#refresh");
    let reason = "This key is no longer accepted: it was revoked, or has expired.";
    browser.reads("#key-error", reason);
    browser.is("sessionStorage.length + rows.rows.length", 0);
    let typed = "$$('#name, #categoryId, #status').map(e => e.value)";
    browser.is(typed, json!(["Max", "8", "sold"]));
    let browser = zoo.enter_key(KEY);
    browser.reads(
        "#add-failure",
        "still not known whether “Ada” and “Rex” was added. Look for it in the list",
    );
    browser.until("$('#add-send').ariaDisabled === 'false'");
    browser.is(typed, json!(["Max", "8", "sold"]));
    browser.let_through();
    browser.click("#add-send");
    browser.reads("#added", "Added Max (id 4, category 8, sold).");
    // A person who forgets the key on purpose removes everything.
    fill_in(browser, "Eve", "7");
    browser.click("#forget");
    browser.see("#key");
    browser.is(typed, json!(["", "", ""]));

    // An addition with a revoked key adds no animal, so only the outcome of the earlier addition is unknown.
    let key = zoo.new_key(&["another"]);
    let browser = zoo.enter_with("/catalogue", &key);
    browser.lose_one_answer();
    add(browser, "Ivy", "7");
    browser.reads("#add-failure", "It is not known whether “Ivy” was added");
    zoo.revoke("another", &key);
    add(browser, "Max", "7");
    browser.reads("#key-error", reason);
    let browser = zoo.enter_key(KEY);
    browser
        .reads("#add-failure", "still not known whether “Ivy” was added. Look for it in the list");
    assert!(!browser.text("#add-failure").contains("Max"));
    browser.is("$('#name').value", "Max");

    // The reference says that the key is no longer accepted, and forgets the key.
    let key = zoo.new_key(&["third"]);
    let browser = zoo.visit("/docs", "");
    authorize(browser, &key);
    zoo.revoke("third", &key);
    execute(browser, LIST, 401);
    browser.reads("#key-error", "no longer accepted");
    browser.is("sessionStorage.length", 0);
}

#[needs(chromium)]
#[test]
fn the_reference_shows_that_a_key_is_read_only() {
    let zoo = Zoo::on(Store::sqlite());
    let browser = zoo.visit("/docs", "");
    authorize(browser, &zoo.new_key(&["reader", "--read-only"]));
    browser.reads("#key-state", "It may only read: adding an animal gets a 403.");
    browser.reads("#createPet .try", "Your key may only read: the response is 403.");
    browser.click("#forget");
    browser.until("!$('#createPet .reading').checkVisibility()");
}
