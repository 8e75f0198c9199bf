//! The form that adds an animal.

use petstore_testing::needs;
use serde_json::json;

use super::conditions::answer_instead;
use crate::support::{browser::Browser, zoo::Zoo};

/// Fills the form in.
#[track_caller]
pub(super) fn fill_in(browser: &Browser, name: &str, category: &str) {
    browser.fill("#name", name);
    browser.fill("#categoryId", category);
}

#[needs(chromium)]
#[test]
fn an_added_animal_appears_and_is_counted() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(3);
    let browser = zoo.enter("/catalogue");
    browser.click("#count");
    browser.reads("#count-status", "3 animals in all");
    browser.reads("#bars li:nth-child(3)", "Sold\n1");

    fill_in(browser, "Rex", "9007199254740993");
    browser.js("document.getElementById('status').value = 'sold'");
    browser.click("#add-send");
    browser.reads("#added", "Added Rex (id 4, category 9007199254740993, sold).");
    browser.reads("#rows tr.new", "Rex");
    browser.reads("#count-status", "4 animals in all");
    browser.reads("#bars li:nth-child(3)", "Sold\n2");
    let expected = json!({"id": 4, "name": "Rex", "categoryId": 9_007_199_254_740_993_i64,
        "status": "sold"});
    assert_eq!(zoo.everything()[3], expected);
    assert_eq!(
        browser.value("[...add.querySelectorAll('input')].map(input => input.value)"),
        json!(["", ""])
    );
}

#[needs(chromium)]
#[test]
fn an_animal_without_a_status_is_sent_without_one() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = zoo.enter("/catalogue");
    fill_in(browser, "“Bo\"bby”", "-9223372036854775808");
    browser.click("#add-send");
    browser.reads("#rows", "“Bo\"bby”");
    let expected = json!({"id": 1, "name": "“Bo\"bby”", "categoryId": i64::MIN});
    assert_eq!(zoo.everything(), [expected]);
}

#[needs(chromium)]
#[test]
fn what_the_service_refuses_is_said_at_its_field() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = zoo.enter("/catalogue");
    fill_in(browser, "   ", "9223372036854775808");
    browser.click("#add-send");
    browser.reads("#name-error", "Must not be white space alone.");
    browser.reads("#categoryId-error", "Must be a whole number from -9223372036854775808 to");
    browser.reads("#add-failure", "2 fields need a change");
    assert_eq!(browser.value("document.activeElement.id"), "name");
    let marks = "[...add.querySelectorAll('input, select')].map(field => field.ariaInvalid)";
    assert_eq!(browser.value(marks), json!(["true", "true", "false"]));
    // A reader of the screen hears the fault with the field.
    for field in ["name", "categoryId"] {
        let described =
            format!("document.getElementById('{field}').getAttribute('aria-describedby')");
        let described = browser.value(&described).as_str().unwrap().to_owned();
        assert!(described.split(' ').any(|id| id == format!("{field}-error")), "{described}");
    }

    fill_in(browser, "Rex", "1");
    assert_eq!(browser.value("document.getElementById('name-error').hidden"), true);
    browser.click("#add-send");
    browser.reads("#added", "Added Rex");
    assert_eq!(browser.value("document.getElementById('add-failure').hidden"), true);
    assert_eq!(zoo.everything().len(), 1);
}

#[needs(chromium)]
#[test]
fn what_is_plainly_missing_is_said_before_anything_is_sent() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = zoo.enter("/catalogue");
    browser.requests();
    fill_in(browser, "", "1.5");
    browser.click("#add-send");
    browser.reads("#name-error", "Enter a name");
    browser.reads("#categoryId-error", "Enter a whole number");
    assert!(browser.requests().iter().all(|request| request.method != "POST"));
}

#[needs(chromium)]
#[test]
fn a_refusal_that_names_no_field_is_shown_as_it_is() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = zoo.enter("/catalogue");
    // Some other party stands between the page and the service, and answers for it.
    answer_instead(browser, "POST", 413, "body_too_large");
    fill_in(browser, "Rex", "1");
    browser.click("#add-send");
    browser.reads("#add-failure", "The service refused: the body_too_large.");
    assert_eq!(browser.value("document.getElementById('add-failure').role"), "alert");
}
