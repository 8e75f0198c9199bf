//! The page while the service does not answer: it keeps its data, and says how old the data is.

use petstore_testing::needs;
use serde_json::json;

use super::list::shows;
use crate::support::{browser::Browser, zoo::Zoo};

/// A regular expression for a time of day on the page.
const TIME: &str = r"/\d{1,2}:\d{2}:\d{2}/";

#[track_caller]
fn has_a_time(browser: &Browser, selector: &str) {
    let text = browser.text(selector);
    browser.is(&format!("{TIME}.test({})", json!(text)), true);
}

#[needs(chromium)]
#[test]
fn a_failed_read_keeps_the_rows_and_shows_their_time() {
    let zoo = Zoo::with(25);
    let browser = zoo.enter("/catalogue");
    browser.set_offline(true);
    browser.click("#refresh");
    browser.reads("#list-failure", "Shown is page 1 of all animals, as it was at");
    has_a_time(browser, "#list-failure");
    shows(browser, 1..=20);
    // The next page does not arrive either, so the first page stays. The error is visible.
    browser.click("#next");
    browser.reads("#list-failure", "Shown is page 1 of all animals");
    browser.reads("#page", "Page 1");
    browser.until("$('#list-failure').getBoundingClientRect().top >= 0");
    shows(browser, 1..=20);
    browser.set_offline(false);
    browser.click("#list-retry");
    shows(browser, 21..=25);
    browser.is("$('#list-failure').hidden", true);
    browser.focus_is_on("list-title");

    let browser = zoo.enter("/catalogue?status=sold&limit=10");
    browser.set_offline(true);
    browser.click("#filter label:has([value=''])");
    browser.reads("#list-failure", "Shown is page 1 of the animals with the status sold");
    browser.set_offline(false);
    browser.click("#list-retry");
    shows(browser, 1..=10);
}

#[needs(chromium)]
#[test]
fn a_failed_count_keeps_the_last_counts_and_says_so() {
    let zoo = Zoo::with(4);
    let browser = zoo.enter("/catalogue");
    browser.click("#count");
    browser.reads("#count-status", "4 animals in all");
    let bars = browser.value("bars.innerHTML");
    browser.set_offline(true);
    browser.click("#count");
    browser.reads("#count-failure", "Not counted. The service did not answer");
    browser.reads("#count-status", "4 animals in all, counted at");
    has_a_time(browser, "#count-status");
    browser.is("bars.innerHTML", bars);
    browser.set_offline(false);
}
