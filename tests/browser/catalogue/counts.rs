//! The counts by status.

use std::fmt::Write as _;

use serde_json::json;

use crate::support::{browser::Browser, command::petstore, store::Store, zoo::Zoo};

/// The label and the number of each bar.
fn numbers(browser: &Browser) -> serde_json::Value {
    browser.value(
        "[...bars.children].map(bar => [bar.firstChild.textContent,
            bar.querySelector('.value').firstChild.textContent])",
    )
}

#[test]
fn every_status_has_its_number_and_a_bar_as_long() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(250);
    let browser = zoo.enter("/catalogue");
    browser.reads("#count-status", "250 animals in all");
    let expected =
        json!([["Available", "62"], ["Pending", "63"], ["Sold", "63"], ["No status", "62"]]);
    assert_eq!(numbers(browser), expected);
    let share = "(bar => bar.getBoundingClientRect().width / bar.ownerSVGElement.clientWidth)";
    let share = browser.value(&format!("{share}(bars.querySelector('rect'))"));
    assert!((share.as_f64().unwrap() - 62.0 / 250.0).abs() < 0.01, "{share}");
}

#[test]
fn counting_ends_at_five_thousand_and_says_so() {
    let store = Store::sqlite();
    let mut animals = String::new();
    for number in 1..=5001 {
        writeln!(animals, r#"{{"id":{number},"name":"pet","categoryId":1}}"#).unwrap();
    }
    let file = store.folder().join("animals.ndjson");
    std::fs::write(&file, animals).unwrap();
    petstore(&["import", file.to_str().unwrap(), "--store", &store.url]).finish().succeeds();
    let Some(zoo) = Zoo::on_or_skip(store) else { return };
    let browser = zoo.enter("/catalogue");
    // Counting is never in the way.
    browser.click("#next");
    browser.reads("#list-status", "page 2");
    browser.reads("#count-status", "Of the first 5,000 animals");
    assert_eq!(numbers(browser)[3], json!(["No status", "5,000"]));
}

#[test]
fn counting_can_be_stopped_and_begun_again() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(150);
    let browser = zoo.enter("/catalogue");
    browser.reads("#count-status", "150 animals in all");
    // The second page waits until it is let through.
    browser.js(
        "const real = window.fetch; const gate = new Promise(go => window.let_through = go);
         window.fetch = async (url, options) => {
             if (String(url).includes('cursor')) await Promise.race([gate, new Promise((_, stop) =>
                 options.signal.addEventListener('abort', () => stop(options.signal.reason)))]);
             return real(url, options);
         };",
    );
    browser.click("#count");
    browser.reads("#count-status", "Counting… 100 animals so far");
    assert_eq!(browser.text("#count"), "Stop");
    browser.click("#count");
    browser.reads("#count-status", "Stopped after 100 animals");
    browser.js("window.let_through()");
    browser.click("#count");
    browser.reads("#count-status", "150 animals in all");
}
