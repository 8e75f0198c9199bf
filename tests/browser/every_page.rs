//! Rules that hold on every page for people, in every state that is worth a look.

mod contrast;
mod frame;
mod keyboard;

use petstore_testing::needs;
use serde_json::{Value, json};

use crate::{
    docs,
    states::{CATALOGUE, DOCS, State, catalogue_key, zoo_or_skip},
    support::{browser::Browser, zoo::Zoo},
};

/// A zoo with animals enough for every colour and a second page.
fn stocked() -> Option<Zoo> {
    let zoo = Zoo::open_or_skip()?;
    zoo.stock(25);
    Some(zoo)
}

/// Checks of an open page, in any state.
const CHECKS: [fn(&str, &Browser); 5] = [
    asks_nobody_else,
    has_an_outline,
    names_every_control,
    contrast::is_legible,
    keyboard::can_be_skipped_to,
];

#[track_caller]
fn keeps_every_rule(states: &[State]) {
    let Some(zoo) = zoo_or_skip() else { return };
    for (name, open) in states {
        open(&zoo);
        for check in CHECKS {
            check(name, &zoo.browser);
        }
    }
}

#[needs(chromium)]
#[test]
fn every_state_of_the_catalogue_keeps_every_rule() {
    keeps_every_rule(&CATALOGUE);
}

#[needs(chromium)]
#[test]
fn every_state_of_the_reference_keeps_every_rule() {
    keeps_every_rule(&DOCS);
}

/// It has a language, a title and one main heading.
fn has_an_outline(name: &str, browser: &Browser) {
    assert_eq!(browser.value("document.documentElement.lang"), "en", "{name}");
    assert!(browser.value("document.title").as_str().unwrap().len() > 5, "{name}");
    let headings = "[...document.querySelectorAll('h1')].filter(e => e.checkVisibility())";
    assert_eq!(browser.value(&format!("{headings}.length")), 1, "{name}");
    assert_eq!(browser.value("document.querySelectorAll('main').length"), 1, "{name}");
}

/// It asks no other host, and does not break its policy.
fn asks_nobody_else(name: &str, browser: &Browser) {
    let requests = browser.requests();
    let out = requests.iter().filter(|request| request.went_out());
    let out: Vec<_> = out.map(|request| request.url.as_str()).collect();
    assert!(!out.is_empty(), "{name}");
    let own = browser.value("location.origin + '/'").as_str().unwrap().to_owned();
    assert!(out.iter().all(|url| url.starts_with(&own)), "{name}: {out:?}");
    // A refusal of the service is no fault of the page.
    let complaints = browser.complaints();
    let own = complaints.iter().filter(|text| !text.contains("Failed to load resource"));
    assert_eq!(own.collect::<Vec<_>>(), [""; 0], "{name}");
}

#[needs(chromium)]
#[test]
fn another_host_and_a_broken_policy_would_be_seen() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let other = zoo.page("/livez").replace("127.0.0.1", "localhost");
    zoo.browser.go(&other);
    let requests = zoo.browser.requests();
    assert!(requests.iter().any(|request| request.url == other), "{requests:?}");
    zoo.browser.go(&zoo.page("/catalogue"));
    zoo.browser
        .js(&format!("document.body.append(Object.assign(new Image, {{ src: '{other}' }}))"));
    let complaints = zoo.browser.complaints();
    assert!(
        complaints.iter().any(|text| text.contains("Content Security Policy")),
        "{complaints:?}"
    );
}

/// The roles of what a person can use.
const CONTROLS: [&str; 13] = [
    "button",
    "checkbox",
    "combobox",
    "link",
    "listbox",
    "menuitem",
    "radio",
    "searchbox",
    "slider",
    "spinbutton",
    "switch",
    "tab",
    "textbox",
];

/// The controls as an assistive program is told of them: role and name.
fn controls(browser: &Browser) -> Vec<(String, String)> {
    let tree = browser.devtools("Accessibility.getFullAXTree", json!({}));
    let nodes = tree["nodes"].as_array().unwrap().iter().filter(|node| node["ignored"] == false);
    let text = |value: &Value| value["value"].as_str().unwrap_or_default().trim().to_owned();
    let named = nodes.map(|node| (text(&node["role"]), text(&node["name"])));
    named.filter(|(role, _)| CONTROLS.contains(&role.as_str())).collect()
}

fn names_every_control(page: &str, browser: &Browser) {
    let controls = controls(browser);
    assert!(controls.len() >= 5, "{page}: {controls:?}");
    let nameless = controls.iter().filter(|(_, name)| name.is_empty());
    assert_eq!(nameless.count(), 0, "{page}: {controls:?}");
}

#[needs(chromium)]
#[test]
fn a_control_without_a_name_would_be_seen() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    catalogue_key(&zoo);
    zoo.browser.js("document.querySelector('main').append(document.createElement('button'))");
    assert!(controls(&zoo.browser).contains(&("button".to_owned(), String::new())));
}

#[needs(chromium)]
#[test]
fn the_pages_lead_to_each_other() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    catalogue_key(&zoo);
    zoo.browser.click("header a[href='docs']");
    zoo.browser.see(docs::LIST);
    assert!(zoo.browser.url().starts_with(&zoo.page("/docs")));
    zoo.browser.click("header a[href='catalogue']");
    zoo.browser.see("#key");
}
