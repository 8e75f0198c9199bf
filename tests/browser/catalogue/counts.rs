//! The counts by status.

use std::fmt::Write as _;

use petstore_testing::needs;
use serde_json::json;

use super::{
    adding::fill_in,
    conditions::{hold_answers, let_through},
};
use crate::support::{browser::Browser, command::petstore, store::Store, zoo::Zoo};

/// The label and the number of each bar.
fn numbers(browser: &Browser) -> serde_json::Value {
    browser.value(
        "[...bars.children].map(bar => [bar.firstChild.textContent,
            bar.querySelector('.value').firstChild.textContent])",
    )
}

/// The requests for animals since this was last asked.
fn reads(browser: &Browser) -> usize {
    let requests = browser.requests();
    requests
        .iter()
        .filter(|request| request.method == "GET" && request.url.contains("/v1/"))
        .count()
}

#[needs(chromium)]
#[test]
fn every_status_has_its_number_and_a_bar_as_long() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(250);
    let browser = zoo.enter("/catalogue");
    browser.click("#count");
    browser.reads("#count-status", "250 animals in all");
    browser.reads("#announcement", "250 animals in all");
    let expected =
        json!([["Available", "62"], ["Pending", "63"], ["Sold", "63"], ["No status", "62"]]);
    assert_eq!(numbers(browser), expected);
    let share = "(bar => bar.getBoundingClientRect().width / bar.ownerSVGElement.clientWidth)";
    let share = browser.value(&format!("{share}(bars.querySelector('rect'))"));
    assert!((share.as_f64().unwrap() - 62.0 / 250.0).abs() < 0.01, "{share}");
}

#[needs(chromium)]
#[test]
fn nothing_is_counted_unless_it_is_asked_for_and_an_added_animal_counts_without_a_request() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(150);
    zoo.browser.requests();
    let browser = zoo.enter("/catalogue");
    browser.reads("#count-status", "Not counted yet");
    // The key is checked and the page is read.
    assert_eq!(reads(browser), 2);
    fill_in(browser, "Rex", "1");
    browser.click("#add-send");
    browser.reads("#added", "Added Rex");
    browser.until("animals.ariaBusy === 'false'");
    assert_eq!(browser.value("bars.childElementCount"), 0);
    assert_eq!(reads(browser), 1);

    browser.click("#count");
    browser.reads("#count-status", "151 animals in all");
    assert_eq!(reads(browser), 2);
    fill_in(browser, "Max", "1");
    browser.js("document.getElementById('status').value = 'sold'");
    browser.click("#add-send");
    browser.reads("#count-status", "152 animals in all");
    browser.reads("#count-status", "1 added here since");
    assert_eq!(numbers(browser)[2], json!(["Sold", "39"]));
    browser.until("animals.ariaBusy === 'false'");
    assert_eq!(reads(browser), 1);
}

#[needs(chromium)]
#[test]
fn an_animal_added_during_a_count_is_counted_once() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(150);
    let browser = zoo.enter("/catalogue");
    // The last page is read before the animal is added, or after it: of the animals that are on the
    // page that is held back, none is counted twice, and the one that is not on it is not missed.
    for (page, name, total) in [("limit=100'", "Rex", "151"), ("cursor'", "Max", "152")] {
        hold_answers(
            browser,
            &format!("method === 'GET' && url.includes('{page}) && !url.includes('limit=20')"),
        );
        browser.click("#count");
        browser.until("window.held === 1");
        fill_in(browser, name, "1");
        browser.click("#add-send");
        browser.reads("#added", name);
        let_through(browser);
        browser.reads("#count-status", &format!("{total} animals in all"));
    }
}

#[needs(chromium)]
#[test]
fn counting_pauses_at_five_thousand_says_so_and_goes_on_if_asked() {
    let store = Store::sqlite();
    let mut animals = String::new();
    for number in 1..=5001 {
        writeln!(animals, r#"{{"id":{number},"name":"pet","categoryId":1}}"#).unwrap();
    }
    let file = store.folder().join("animals.ndjson");
    std::fs::write(&file, animals).unwrap();
    petstore(&["import", "--create", file.to_str().unwrap(), "--store", &store.url])
        .finish()
        .succeeds();
    let Some(zoo) = Zoo::on_or_skip(store) else { return };
    let browser = zoo.enter("/catalogue");
    browser.click("#count");
    // Counting is never in the way.
    browser.click("#next");
    browser.reads("#list-status", "page 2");
    browser.reads("#count-status", "At least 5,000 animals, counted up to id 5000");
    assert_eq!(numbers(browser)[3], json!(["No status", "5,000"]));
    // Added animals come after those that are counted.
    fill_in(browser, "Rex", "1");
    browser.click("#add-send");
    browser.reads("#added", "Added Rex");
    browser.reads("#count-status", "At least 5,000 animals");

    browser.click("#count-on");
    browser.reads("#count-status", "5,002 animals in all");
    assert_eq!(browser.value("document.getElementById('count-on').hidden"), true);
    assert_eq!(browser.value("document.activeElement.id"), "count");
}

#[needs(chromium)]
#[test]
fn counting_can_be_stopped_and_begun_again() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(150);
    let browser = zoo.enter("/catalogue");
    browser.click("#count");
    browser.reads("#count-status", "150 animals in all");
    // The second page waits until it is let through.
    hold_answers(browser, "url.includes('cursor')");
    browser.click("#count");
    browser.reads("#count-status", "Counting… 100 animals so far");
    assert_eq!(browser.text("#count"), "Stop");
    browser.click("#count");
    browser.reads("#count-status", "Stopped after 100 animals");
    // The counts of before stay.
    browser.reads("#count-status", "150 animals in all");
    assert_eq!(numbers(browser)[0], json!(["Available", "37"]));
    let_through(browser);
    browser.click("#count");
    browser.reads("#count-status", "150 animals in all");
}
