//! Finding an animal by its id, and its place in the list.

use petstore_testing::needs;

use super::list::{is_at, shows};
use crate::{
    states::{add, find},
    support::{browser::Browser, zoo::Zoo},
};

/// Finds an animal by its id and goes to its row in the list.
#[track_caller]
fn find_and_go(browser: &Browser, id: &str) {
    find(browser, id);
    browser.reads("#found-title", &format!("pet {id}"));
    browser.click("#found-show");
    is_at(browser, id);
}

#[needs(chromium)]
#[test]
fn an_added_animal_is_shown_on_its_page_of_the_list() {
    let zoo = Zoo::with(245);
    let browser = zoo.enter("/catalogue?limit=10");
    add(browser, "Rex", "7");
    browser.reads("#added", "Added Rex (id 246, category 7).");
    browser.click("#added-show");
    is_at(browser, "246");
    shows(browser, 241..=246);
    browser.reads("#page", "Page 25");
    browser.reads("#announcement", "It is row 6 of page 25.");
    browser.reads("#found", "Rex");
    // The address contains the place. The previous pages can be reached, also pages before the 100 animals that the
    // search read last.
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
fn one_request_finds_an_animal_by_its_id_and_showing_its_row_clears_a_filter_that_hides_it() {
    let zoo = Zoo::with(45);
    let browser = zoo.enter("/catalogue");
    browser.requests();
    find(browser, "42");
    browser.reads("#found-title", "pet 42");
    browser.reads("#found-text", "id 42, category 1, sold");
    browser.focus_is_on("found-title");
    let requests = browser.requests();
    let asked: Vec<_> = requests.iter().filter(|request| request.url.contains("/v1/")).collect();
    assert!(matches!(asked[..], [one] if one.url.ends_with("/v1/pets/42")), "{asked:?}");
    browser.click("#found-show");
    is_at(browser, "42");
    shows(browser, 41..=45);
    browser.click("#found-close");
    browser.focus_is_on("find-id");
    browser.is("found.hidden", true);

    let browser = zoo.enter("/catalogue?limit=10&status=sold");
    // The animal is sold, so the filter stays.
    find_and_go(browser, "42");
    browser.is("filter.elements.status.value", "sold");
    find_and_go(browser, "41");
    browser.is("filter.elements.status.value", "");
    // The animal has a status, so this filter hides it.
    browser.click("#filter label:has([value=none])");
    browser.reads("#list-status", "Looked through");
    find_and_go(browser, "41");
    shows(browser, 41..=45);

    // Once getPet is removed, the page searches the list.
    browser.intercept("/pets\\/\\d+$/.test(url)", "return refusal(410, 'operation_removed');");
    find(browser, "44");
    is_at(browser, "44");
    browser.reads("#found-text", "id 44, category 1, available");
    find(browser, "46");
    browser.reads("#found-status", "The list does not contain this animal.");
}

#[needs(chromium)]
#[test]
fn a_search_can_be_stopped_and_reports_failures() {
    let zoo = Zoo::with(149);
    let browser = zoo.enter("/catalogue?limit=50");
    find(browser, "149");
    browser.reads("#found-title", "pet 149");
    browser.hold_answers("url.includes('cursor')");
    browser.click("#found-show");
    browser.until("window.held === 1");
    browser.reads("#found-show", "Stop");
    browser.click("#found-show");
    browser.reads("#found-status", "Stopped. Looked through 0 animals.");
    shows(browser, 1..=50);
    browser.let_through();
    browser.answer_instead("GET", 500, "failure");
    browser.click("#found-show");
    browser.reads("#found-status", "The service refused: the failure.");
}
