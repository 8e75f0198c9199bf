//! The page while the service does not answer, or no longer takes the key: nothing is lost, and what
//! is of before says so.

use petstore_testing::needs;
use serde_json::json;

use super::{
    adding::fill_in,
    conditions::{hold_answers, lose_one_answer, set_offline},
    list::{IDS, shows},
};
use crate::support::{browser::Browser, store::Store, wait, zoo::Zoo};

/// A time of day as the page writes it.
const TIME: &str = r"/\d{1,2}:\d{2}:\d{2}/";

#[track_caller]
fn has_a_time(browser: &Browser, selector: &str) {
    let text = browser.text(selector);
    assert_eq!(browser.value(&format!("{TIME}.test({})", json!(text))), true, "{text}");
}

#[needs(chromium)]
#[test]
fn a_failed_refresh_keeps_the_rows_and_says_of_when_they_are() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(25);
    let browser = zoo.enter("/catalogue");
    set_offline(browser, true);
    browser.click("#refresh");
    browser.reads("#list-failure", "The service did not answer");
    browser.reads("#list-failure", "Shown is page 1 of all animals, as it was at");
    has_a_time(browser, "#list-failure");
    shows(browser, 1..=20);
    browser.see("#rows");

    // Another page does not come either: the rows are still those of the first.
    browser.click("#next");
    browser.reads("#page", "Page 1");
    browser.reads("#list-failure", "Shown is page 1 of all animals");
    shows(browser, 1..=20);

    set_offline(browser, false);
    browser.click("#list-retry");
    shows(browser, 21..=25);
    assert_eq!(browser.value("document.getElementById('list-failure').hidden"), true);
    assert_eq!(browser.value("document.activeElement.id"), "list-title");
}

#[needs(chromium)]
#[test]
fn a_service_that_is_gone_when_the_page_opens_is_tried_again() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(1);
    let browser = zoo.enter("/catalogue");
    browser.click("#filter label:has([value=available])");
    browser.reads("#empty", "There is no animal with the status available");
    set_offline(browser, true);
    browser.click("#show-all");
    browser.reads("#list-failure", "Shown is page 1 of the animals with the status available");
    set_offline(browser, false);
    browser.click("#list-retry");
    shows(browser, 1..=1);
}

#[needs(chromium)]
#[test]
fn a_count_that_fails_keeps_the_last_counts_and_says_so() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(4);
    let browser = zoo.enter("/catalogue");
    browser.click("#count");
    browser.reads("#count-status", "4 animals in all");
    let bars = browser.value("bars.innerHTML");
    set_offline(browser, true);
    browser.click("#count");
    browser.reads("#count-failure", "Not counted. The service did not answer");
    browser.reads("#count-status", "4 animals in all, counted at");
    has_a_time(browser, "#count-status");
    assert_eq!(browser.value("bars.innerHTML"), bars);
    set_offline(browser, false);
    browser.click("#count");
    browser.until("document.getElementById('count-failure').hidden");
    browser.reads("#count-status", "4 animals in all");
}

#[needs(chromium)]
#[test]
fn a_first_count_that_fails_shows_no_bars() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(4);
    let browser = zoo.enter("/catalogue");
    set_offline(browser, true);
    browser.click("#count");
    browser.reads("#count-failure", "Not counted. The service did not answer");
    // Not both.
    assert_eq!(browser.value("document.getElementById('count-status').textContent"), "");
    assert_eq!(browser.value("bars.childElementCount"), 0);
    assert_eq!(browser.text("#count"), "Count");
}

/// A service that has one animal, with a key of its own that the page uses.
fn with_a_key_of_its_own() -> Option<Zoo> {
    let zoo = Zoo::on_or_skip(Store::sqlite())?;
    zoo.stock(1);
    let key = zoo.store.new_key("for-the-browser");
    // The server takes a new key within a second.
    wait::until("the server takes the key", || {
        zoo.client().get("/v1/pets").key(&key).send().status == 200
    });
    zoo.browser.go(&zoo.page("/catalogue"));
    zoo.browser.fill("#key", &key);
    zoo.browser.click("#key-send");
    zoo.browser.reads("#rows", "pet 1");
    Some(zoo)
}

/// Revokes that key.
#[track_caller]
fn revoke(zoo: &Zoo) {
    let key = zoo.browser.value("sessionStorage.getItem('petstore.key')");
    zoo.store.keys(&["revoke", "for-the-browser"]).succeeds();
    wait::until("the server no longer takes the key", || {
        zoo.client().get("/v1/pets").key(key.as_str().unwrap()).send().status == 401
    });
}

#[needs(chromium)]
#[test]
fn a_key_that_is_revoked_leads_back_to_the_form_and_takes_nothing_that_is_typed() {
    let Some(zoo) = with_a_key_of_its_own() else { return };
    let browser = &zoo.browser;
    fill_in(browser, "Rex", "7");
    browser.js("document.getElementById('status').value = 'sold'");
    revoke(&zoo);
    browser.click("#refresh");
    browser.reads("#key-error", "This key is no longer accepted: it was revoked, or has expired.");
    assert_eq!(browser.value("sessionStorage.length"), 0);
    assert_eq!(browser.value(IDS), json!([]));
    let typed = "[...document.querySelectorAll('#name, #categoryId, #status')].map(e => e.value)";
    assert_eq!(browser.value(typed), json!(["Rex", "7", "sold"]));

    zoo.enter_key();
    assert_eq!(browser.value(typed), json!(["Rex", "7", "sold"]));
    browser.click("#add-send");
    browser.reads("#added", "Added Rex (id 2, category 7, sold).");

    // A key that is forgotten on purpose takes everything with it.
    fill_in(browser, "Max", "7");
    browser.click("#forget");
    browser.see("#key");
    assert_eq!(browser.value(typed), json!(["", "", ""]));
}

#[needs(chromium)]
#[test]
fn a_refused_key_while_adding_says_what_is_known_of_each_animal() {
    let Some(zoo) = with_a_key_of_its_own() else { return };
    let browser = &zoo.browser;
    lose_one_answer(browser);
    fill_in(browser, "Rex", "7");
    browser.click("#add-send");
    browser.reads("#add-failure", "It is not known whether “Rex” was added");
    revoke(&zoo);
    fill_in(browser, "Max", "7");
    browser.click("#add-send");
    browser.reads("#key-error", "This key is no longer accepted: it was revoked, or has expired.");
    zoo.enter_key();
    browser
        .reads("#add-failure", "still not known whether “Rex” was added. Look for it in the list");
    assert!(!browser.text("#add-failure").contains("Max"));
    assert_eq!(browser.value("document.getElementById('name').value"), "Max");
}

#[needs(chromium)]
#[test]
fn a_key_that_goes_while_an_answer_is_awaited_leaves_no_request_behind() {
    let Some(zoo) = with_a_key_of_its_own() else { return };
    let browser = &zoo.browser;
    hold_answers(browser, "method === 'POST'");
    fill_in(browser, "Rex", "7");
    browser.click("#add-send");
    browser.until("window.held === 1");
    revoke(&zoo);
    browser.click("#refresh");
    browser.reads("#key-error", "This key is no longer accepted: it was revoked, or has expired.");
    zoo.enter_key();
    browser.reads("#add-failure", "still not known whether “Rex” was added");
    browser.until("document.getElementById('add-send').ariaDisabled === 'false'");
}
