//! The form that adds an animal, whatever is pressed and whatever gets lost: what it says is true.

use petstore_testing::needs;
use thirtyfour::Key;

use super::{
    adding::fill_in,
    conditions::{hold_answers, let_through, lose_one_answer, settle, spoil_one_answer},
};
use crate::support::{browser::Browser, zoo::Zoo};

/// How many requests to add an animal went out since the requests were last asked for.
fn posts(browser: &Browser) -> usize {
    browser.requests().iter().filter(|request| request.method == "POST").count()
}

#[track_caller]
fn says_no_fault(browser: &Browser) {
    assert_eq!(browser.value("document.getElementById('add-failure').hidden"), true);
    assert_eq!(browser.value("add.querySelectorAll('[aria-invalid=true]').length"), 0);
}

#[needs(chromium)]
#[test]
fn a_second_enter_after_the_answer_says_that_the_animal_was_added() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = zoo.enter("/catalogue");
    browser.requests();
    fill_in(browser, "Rex", "1");
    browser.press(Key::Enter);
    browser.reads("#added", "Added Rex (id 1");
    browser.press(Key::Enter);
    settle(browser);
    says_no_fault(browser);
    browser.reads("#added", "Added Rex (id 1");
    browser.reads("#announcement", "Added Rex (id 1");
    assert_eq!(posts(browser), 1);
    assert_eq!(zoo.everything().len(), 1);

    // A form that was touched is another animal.
    fill_in(browser, "Max", "");
    browser.press(Key::Enter);
    browser.reads("#add-failure", "Not added: one field needs a change.");
}

#[needs(chromium)]
#[test]
fn a_second_enter_before_the_answer_sends_nothing() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = zoo.enter("/catalogue");
    hold_answers(browser, "method === 'POST'");
    browser.requests();
    fill_in(browser, "Rex", "1");
    browser.press(Key::Enter);
    browser.press(Key::Enter);
    browser.until("window.held === 1");
    browser.press(Key::Enter);
    let_through(browser);
    browser.reads("#added", "Added Rex (id 1");
    browser.press(Key::Enter);
    settle(browser);
    says_no_fault(browser);
    assert_eq!(posts(browser), 1);
    assert_eq!(zoo.everything().len(), 1);
}

#[needs(chromium)]
#[test]
fn what_is_typed_while_an_answer_is_awaited_stays() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = zoo.enter("/catalogue");
    hold_answers(browser, "method === 'POST'");
    fill_in(browser, "Rex", "1");
    browser.press(Key::Enter);
    browser.until("window.held === 1");
    fill_in(browser, "Max", "2");
    let_through(browser);
    browser.reads("#added", "Added Rex (id 1");
    assert_eq!(browser.value("document.getElementById('name').value"), "Max");
    browser.press(Key::Enter);
    browser.reads("#added", "Added Max (id 2");
    assert_eq!(zoo.everything().len(), 2);
}

#[needs(chromium)]
#[test]
fn an_animal_of_unknown_outcome_is_not_forgotten_over_another() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = zoo.enter("/catalogue");
    lose_one_answer(browser);
    fill_in(browser, "Rex", "1");
    browser.press(Key::Enter);
    browser.reads("#add-failure", "It is not known whether “Rex” was added");
    fill_in(browser, "Max", "1");
    browser.press(Key::Enter);
    browser.reads("#added", "Added Max (id 2");
    browser.reads("#added", "still not known whether “Rex” was added");
    fill_in(browser, "Rex", "1");
    browser.press(Key::Enter);
    browser.reads("#added", "Was added by the try before: Rex (id 1");
    assert!(!browser.text("#added").contains("not known"));
    assert_eq!(zoo.everything().len(), 2);
}

#[needs(chromium)]
#[test]
fn a_double_click_adds_one() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = zoo.enter("/catalogue");
    browser.requests();
    fill_in(browser, "Rex", "1");
    browser.double_click("#add-send");
    browser.reads("#added", "Added Rex");
    assert_eq!(zoo.everything().len(), 1);
    let requests = browser.requests();
    assert_eq!(requests.iter().filter(|request| request.method == "POST").count(), 1);

    // The answer may also come between the two, and has emptied the form then.
    browser.js("add.addEventListener('click', event => window.clicks = event.detail)");
    browser.click_again("#add-send", 2);
    browser.until("window.clicks === 2");
    settle(browser);
    assert_eq!(browser.value("document.getElementById('add-failure').hidden"), true);
    assert_eq!(zoo.everything().len(), 1);
}

#[needs(chromium)]
#[test]
fn another_try_after_a_lost_answer_adds_nothing_twice() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = zoo.enter("/catalogue");
    browser.requests();
    // The first animal arrives at the service, but its answer does not arrive here.
    lose_one_answer(browser);
    fill_in(browser, "Rex", "1");
    browser.click("#add-send");
    browser.reads("#add-failure", "Press “Add” again: it is not added twice.");
    assert_eq!(zoo.everything().len(), 1);
    browser.click("#add-send");
    browser.reads("#added", "Was added by the try before: Rex (id 1");
    assert_eq!(zoo.everything().len(), 1);

    // The same animal once more is another one.
    fill_in(browser, "Rex", "1");
    browser.click("#add-send");
    browser.reads("#added", "Added Rex (id 2");
    let requests = browser.requests();
    let posts = requests.iter().filter(|request| request.method == "POST");
    let keys: Vec<_> = posts.map(|request| request.header("Idempotency-Key")).collect();
    assert_eq!(keys.len(), 3, "{requests:?}");
    assert!(keys[0].len() >= 16 && keys[0] == keys[1] && keys[1] != keys[2], "{keys:?}");
}

#[needs(chromium)]
#[test]
fn another_try_after_a_failure_of_the_service_adds_nothing_twice() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = zoo.enter("/catalogue");
    for (count, status) in [(1, 500), (2, 502), (3, 503), (4, 504)] {
        browser.requests();
        // The service has added the animal, and says that it failed.
        spoil_one_answer(browser, status);
        fill_in(browser, "Rex", "1");
        browser.click("#add-send");
        browser.reads("#add-failure", "Press “Add” again: it is not added twice.");
        browser.click("#add-send");
        browser.reads("#added", &format!("Was added by the try before: Rex (id {count}"));
        assert_eq!(zoo.everything().len(), count, "{status}");
        let requests = browser.requests();
        let posts = requests.iter().filter(|request| request.method == "POST");
        let keys: Vec<_> = posts.map(|request| request.header("Idempotency-Key")).collect();
        assert!(keys.len() == 2 && keys[0] == keys[1], "{status}: {keys:?}");
    }
}
