//! One animal by its id, and its place in the list.

use std::fmt::Write as _;

use petstore_testing::needs;
use thirtyfour::Key;

use super::{
    adding::fill_in,
    conditions::{answer_instead, hold_answers, let_through},
    list::shows,
};
use crate::support::{browser::Browser, command::petstore, store::Store, zoo::Zoo};

/// Asks for an animal by its id.
#[track_caller]
fn find(browser: &Browser, id: &str) {
    browser.fill("#find-id", id);
    browser.press(Key::Enter);
}

/// Waits until the focus is on the row of the animal with this id, which stands out.
#[track_caller]
fn is_at(browser: &Browser, id: &str) {
    let row = "(row => row.matches('#rows tr.new') && row.cells[0].textContent)";
    browser.until(&format!("{row}(document.activeElement) === '{id}'"));
    assert_eq!(browser.value("rows.querySelectorAll('.new').length"), 1);
}

#[needs(chromium)]
#[test]
fn an_added_animal_is_shown_on_its_page_of_the_list() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(245);
    let browser = zoo.enter("/catalogue?limit=10");
    fill_in(browser, "Rex", "7");
    browser.click("#add-send");
    browser.reads("#added", "Added Rex (id 246, category 7).");
    browser.click("#added-show");
    is_at(browser, "246");
    shows(browser, 241..=246);
    browser.reads("#page", "Page 25");
    browser.reads("#announcement", "It is row 6 of page 25.");
    browser.reads("#found", "Rex");
    // The place is in the address, and the pages before it can be reached, also beyond the 100 animals around it.
    for (page, first) in [(24, 231), (23, 221), (22, 211), (21, 201), (20, 191), (19, 181)] {
        browser.click("#previous");
        shows(browser, first..first + 10);
        browser.reads("#page", &format!("Page {page}"));
    }
    browser.js("history.go(-6)");
    shows(browser, 241..=246);
    browser.reload();
    shows(browser, 241..=246);
}

#[needs(chromium)]
#[test]
fn an_animal_is_found_by_its_id_in_one_request() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(45);
    let browser = zoo.enter("/catalogue");
    browser.requests();
    find(browser, "42");
    browser.reads("#found-title", "pet 42");
    browser.reads("#found-text", "id 42, category 1, sold");
    assert_eq!(browser.value("document.activeElement.id"), "found-title");
    let requests = browser.requests();
    let asked: Vec<_> = requests.iter().filter(|request| request.url.contains("/v1/")).collect();
    assert!(matches!(asked[..], [one] if one.url.ends_with("/v1/pets/42")), "{asked:?}");

    browser.click("#found-show");
    is_at(browser, "42");
    shows(browser, 41..=45);
    browser.click("#found-close");
    assert_eq!(browser.value("document.activeElement.id"), "find-id");
    assert_eq!(browser.value("document.getElementById('found').hidden"), true);
}

#[needs(chromium)]
#[test]
fn an_id_that_does_not_exist_or_is_none_is_said_at_the_field() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = zoo.enter("/catalogue");
    for (id, fault) in [
        ("7", "No animal has this id."),
        ("9223372036854775808", "No animal has this id."),
        ("seven", "Enter a whole number"),
        ("", "Enter a whole number"),
    ] {
        find(browser, id);
        browser.reads("#find-fault", fault);
        assert_eq!(browser.value("document.activeElement.id"), "find-id");
        assert_eq!(browser.value("document.getElementById('find-id').ariaInvalid"), "true");
    }
    browser.click("#refresh");
    assert_eq!(browser.value("document.getElementById('find-fault').hidden"), true);
}

#[needs(chromium)]
#[test]
fn a_filter_that_hides_the_animal_gives_way() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(45);
    let browser = zoo.enter("/catalogue?limit=10&status=sold");
    // The animal is sold: the filter stays.
    find(browser, "42");
    browser.reads("#found-title", "pet 42");
    browser.click("#found-show");
    is_at(browser, "42");
    assert_eq!(browser.value("filter.elements.status.value"), "sold");
    find(browser, "41");
    browser.reads("#found-title", "pet 41");
    browser.click("#found-show");
    is_at(browser, "41");
    assert_eq!(browser.value("filter.elements.status.value"), "");
    // Among the animals without a status it is not.
    browser.click("#filter label:has([value=none])");
    browser.reads("#list-status", "Looked through");
    find(browser, "41");
    browser.reads("#found-title", "pet 41");
    browser.click("#found-show");
    is_at(browser, "41");
    shows(browser, 41..=45);
}

#[needs(chromium)]
#[test]
fn once_the_operation_for_one_animal_is_removed_the_list_is_looked_through() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(45);
    let browser = zoo.enter("/catalogue");
    browser.js(
        "const real = window.fetch; window.fetch = async (url, options) =>
             !/pets\\/\\d+$/.test(url) ? real(url, options) : new Response(
                 '{\"code\":\"operation_removed\",\"message\":\"gone\",\"status\":410}', { status: 410 });",
    );
    find(browser, "42");
    is_at(browser, "42");
    browser.reads("#found-text", "id 42, category 1, sold");
    find(browser, "46");
    browser.reads("#found-status", "The list does not have it.");
}

#[needs(chromium)]
#[test]
fn a_search_has_a_bound_and_goes_on_if_asked() {
    let store = Store::sqlite();
    let mut animals = String::new();
    for number in 1..=5101 {
        writeln!(animals, r#"{{"id":{number},"name":"pet {number}","categoryId":1}}"#).unwrap();
    }
    let file = store.folder().join("animals.ndjson");
    std::fs::write(&file, animals).unwrap();
    petstore(&["import", "--create", file.to_str().unwrap(), "--store", &store.url])
        .finish()
        .succeeds();
    let Some(zoo) = Zoo::on_or_skip(store) else { return };
    let browser = zoo.enter("/catalogue?limit=100");
    find(browser, "5101");
    browser.reads("#found-title", "pet 5101");
    browser.click("#found-show");
    browser.reads("#found-status", "Not reached yet. Looked through 5,000 animals, up to id 5100.");
    browser.reads("#announcement", "Not reached yet.");
    assert_eq!(browser.text("#found-show"), "Search on");
    browser.click("#found-show");
    is_at(browser, "5101");
    browser.reads("#page", "Page 52");
}

#[needs(chromium)]
#[test]
fn a_search_can_be_stopped_and_a_failure_is_said() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(150);
    let browser = zoo.enter("/catalogue?limit=50");
    find(browser, "149");
    browser.reads("#found-title", "pet 149");
    hold_answers(browser, "url.includes('cursor')");
    browser.click("#found-show");
    browser.until("window.held === 1");
    assert_eq!(browser.text("#found-show"), "Stop");
    browser.click("#found-show");
    browser.reads("#found-status", "Stopped. Looked through 0 animals.");
    shows(browser, 1..=50);
    let_through(browser);
    answer_instead(browser, "GET", 500, "failure");
    browser.click("#found-show");
    browser.reads("#found-status", "The service refused: the failure.");
}
