//! The form that adds an animal: its messages, double clicks, lost answers and unknown outcomes.

use petstore_testing::needs;
use serde_json::json;
use thirtyfour::Key;

use crate::{
    states::{add, fill_in},
    support::{browser::Browser, traffic::Request, zoo::Zoo},
};

/// Returns the requests to add an animal since the last call.
fn posts(browser: &Browser) -> Vec<Request> {
    let requests = browser.requests().into_iter();
    requests.filter(|request| request.method == "POST").collect()
}

/// Fills the form in and sends it with the keyboard.
fn enter(browser: &Browser, name: &str, category: &str) {
    fill_in(browser, name, category);
    browser.press(Key::Enter);
}

#[track_caller]
fn says_no_fault(browser: &Browser) {
    browser.settle();
    browser.is("$('#add-failure').hidden", true);
    browser.is("add.querySelectorAll('[aria-invalid=true]').length", 0);
}

#[needs(chromium)]
#[test]
fn an_animal_is_added_as_it_is_typed() {
    let zoo = Zoo::with(3);
    let browser = zoo.enter("/catalogue");
    browser.js("$('#status').value = 'sold'");
    add(browser, "Rex", "9007199254740993");
    browser.reads("#added", "Added Rex (id 4, category 9007199254740993, sold).");
    browser.reads("#rows tr.new", "Rex");
    browser.is("[...add.querySelectorAll('input')].map(input => input.value)", json!(["", ""]));
    add(browser, "“Bo\"bby”", "-9223372036854775808");
    browser.reads("#rows tr.new", "“Bo\"bby”");
    let rex = json!({"id": 4, "name": "Rex", "categoryId": 9_007_199_254_740_993_i64,
        "status": "sold"});
    let bobby = json!({"id": 5, "name": "“Bo\"bby”", "categoryId": i64::MIN});
    assert_eq!(zoo.everything()[3..], [rex, bobby]);
}

#[needs(chromium)]
#[test]
fn a_field_error_appears_before_anything_is_sent_and_goes_once_corrected() {
    let zoo = Zoo::open();
    let browser = zoo.enter("/catalogue");
    browser.requests();
    add(browser, "", "1.5");
    browser.reads("#name-error", "Enter a name.");
    browser.reads("#categoryId-error", "Enter a whole number");
    assert_eq!(posts(browser).len(), 0);
    fill_in(browser, "Rex", "1");
    browser.is("$('#name-error').hidden", true);
    browser.click("#add-send");
    browser.reads("#added", "Added Rex");
    browser.is("$('#add-failure').hidden", true);
    assert_eq!(zoo.everything().len(), 1);
    // A third party between the page and the service answers. Its refusal names no field.
    browser.answer_instead("POST", 413, "body_too_large");
    add(browser, "Rex", "1");
    browser.reads("#add-failure", "The service refused: the body_too_large.");
    browser.is("$('#add-failure').role", "alert");
}

#[needs(chromium)]
#[test]
fn a_double_press_adds_one_animal_and_keeps_the_typed_text() {
    let zoo = Zoo::open();
    let browser = zoo.enter("/catalogue");
    browser.requests();
    // A second Enter comes after the answer.
    enter(browser, "Rex", "1");
    browser.reads("#added", "Added Rex (id 1");
    browser.press(Key::Enter);
    says_no_fault(browser);
    browser.reads("#added", "Added Rex (id 1");
    browser.reads("#announcement", "Added Rex (id 1");
    assert_eq!((posts(browser).len(), zoo.everything().len()), (1, 1));
    // A changed form is checked again.
    enter(browser, "Max", "");
    browser.reads("#add-failure", "Not added: one field needs a change.");

    // More presses come before the answer. The busy button keeps the focus.
    browser.hold_answers("method === 'POST'");
    add(browser, "Max", "1");
    browser.until("window.held === 1");
    browser.focus_is_on("add-send");
    browser.reads("#add-send", "Adding…");
    browser.press(Key::Enter);
    browser.js("$('#name').focus()");
    browser.press(Key::Enter);
    browser.let_through();
    browser.reads("#added", "Added Max (id 2");
    browser.press(Key::Enter);
    says_no_fault(browser);
    assert_eq!((posts(browser).len(), zoo.everything().len()), (1, 2));

    // A person types another animal before the answer.
    browser.hold_answers("method === 'POST'");
    enter(browser, "Ada", "1");
    browser.until("window.held === 1");
    fill_in(browser, "Bea", "2");
    browser.let_through();
    browser.reads("#added", "Added Ada (id 3");
    browser.is("$('#name').value", "Bea");
    browser.press(Key::Enter);
    browser.reads("#added", "Added Bea (id 4");
    posts(browser);

    fill_in(browser, "Cleo", "1");
    browser.double_click("#add-send");
    browser.reads("#added", "Added Cleo");
    assert_eq!((posts(browser).len(), zoo.everything().len()), (1, 5));
    // The answer may come between the two clicks and empty the form.
    browser.js("add.addEventListener('click', event => window.clicks = event.detail)");
    browser.click_again("#add-send", 2);
    browser.until("window.clicks === 2");
    says_no_fault(browser);
    assert_eq!(zoo.everything().len(), 5);
}

/// The animal was added, but its answer is lost or reports a failure.
#[needs(chromium)]
#[test]
fn another_try_adds_nothing_twice() {
    let zoo = Zoo::open();
    let browser = zoo.enter("/catalogue");
    for (count, then) in (1..).zip([
        "throw new TypeError('connection lost')",
        "return refusal(500, 'internal')",
        "return refusal(502, 'unavailable')",
        "return refusal(503, 'unavailable')",
        "return refusal(504, 'unavailable')",
    ]) {
        browser.requests();
        let then = format!("window.fetch = real; await carry(); {then};");
        browser.intercept("method === 'POST'", &then);
        add(browser, "Rex", "1");
        browser.reads("#add-failure", "Press “Add” again: it is not added twice.");
        assert_eq!(zoo.everything().len(), count, "{then}");
        browser.click("#add-send");
        browser.reads("#added", &format!("Already added by an earlier attempt: Rex (id {count}"));
        assert_eq!(zoo.everything().len(), count, "{then}");
        let keys = posts(browser);
        let keys: Vec<_> = keys.iter().map(|post| post.header("Idempotency-Key")).collect();
        assert!(matches!(keys[..], [a, b] if a == b && a.len() >= 16), "{then}: {keys:?}");
    }
    // A later addition of the same animal is another animal.
    add(browser, "Rex", "1");
    browser.reads("#added", "Added Rex (id 6");
}

#[needs(chromium)]
#[test]
fn an_unknown_outcome_is_remembered_while_another_animal_is_added() {
    let zoo = Zoo::open();
    let browser = zoo.enter("/catalogue");
    browser.lose_one_answer();
    enter(browser, "Rex", "1");
    browser.reads("#add-failure", "It is not known whether “Rex” was added");
    enter(browser, "Max", "1");
    browser.reads("#added", "Added Max (id 2");
    browser.reads("#added", "still not known whether “Rex” was added");
    enter(browser, "Rex", "1");
    browser.reads("#added", "Already added by an earlier attempt: Rex (id 1");
    assert!(!browser.text("#added").contains("not known"));
    assert_eq!(zoo.everything().len(), 2);
}
