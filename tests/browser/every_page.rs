//! What holds on every page for people, in every state that is worth a look.

mod contrast;
mod keyboard;

use serde_json::{Value, json};

use crate::{
    browser::docs,
    support::{
        KEY,
        browser::{Browser, Look, PHONE},
        zoo::Zoo,
    },
};

/// A state of a page: its name, and how to get there.
type View = (&'static str, fn(&Zoo));

/// Every state that is looked at.
pub(crate) const VIEWS: [View; 4] = [
    ("catalogue-key", key_form),
    ("catalogue", catalogue),
    ("docs", reference),
    ("docs-open", opened),
];

fn key_form(zoo: &Zoo) {
    zoo.browser.go(&zoo.page("/catalogue"));
    zoo.browser.js("sessionStorage.clear()");
    zoo.browser.reload();
    zoo.browser.see("#key");
}

fn catalogue(zoo: &Zoo) {
    key_form(zoo);
    zoo.enter("/catalogue");
    zoo.browser.reads("#count-status", "in all");
}

fn reference(zoo: &Zoo) {
    zoo.browser.go(&zoo.page("/docs"));
    zoo.browser.see("#operations-pets-listPets");
}

/// The reference with every operation open, and with an answer.
fn opened(zoo: &Zoo) {
    reference(zoo);
    docs::authorize(&zoo.browser, KEY);
    for operation in docs::OPERATIONS {
        docs::open(&zoo.browser, operation);
    }
    docs::execute(&zoo.browser, docs::LIST, 200);
}

/// A zoo with animals enough for every colour and a second page.
fn stocked() -> Option<Zoo> {
    let zoo = Zoo::open_or_skip()?;
    zoo.stock(25);
    Some(zoo)
}

#[test]
fn every_page_has_a_language_a_title_and_one_main_heading() {
    let Some(zoo) = stocked() else { return };
    for (name, open) in VIEWS {
        open(&zoo);
        assert_eq!(zoo.browser.value("document.documentElement.lang"), "en", "{name}");
        assert!(zoo.browser.value("document.title").as_str().unwrap().len() > 5, "{name}");
        let headings = "[...document.querySelectorAll('h1')].filter(e => e.checkVisibility())";
        assert_eq!(zoo.browser.value(&format!("{headings}.length")), 1, "{name}");
        assert_eq!(zoo.browser.value("document.querySelectorAll('main').length"), 1, "{name}");
    }
}

#[test]
fn no_page_asks_another_host_or_breaks_its_policy() {
    let Some(zoo) = stocked() else { return };
    for (name, open) in VIEWS {
        open(&zoo);
        let requests = zoo.browser.requests();
        let out = requests.iter().filter(|request| request.went_out());
        let out: Vec<_> = out.map(|request| request.url.as_str()).collect();
        assert!(out.len() >= 3, "{name}: {out:?}");
        let own = zoo.page("/");
        assert!(out.iter().all(|url| url.starts_with(&own)), "{name}: {out:?}");
        assert_eq!(zoo.browser.complaints(), [""; 0], "{name}");
    }
    // Both would be seen: another host, and a policy that holds.
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

#[test]
fn every_control_has_a_name() {
    let Some(zoo) = stocked() else { return };
    for (page, open) in VIEWS {
        open(&zoo);
        let controls = controls(&zoo.browser);
        assert!(controls.len() >= 5, "{page}: {controls:?}");
        let nameless = controls.iter().filter(|(_, name)| name.is_empty());
        assert_eq!(nameless.count(), 0, "{page}: {controls:?}");
    }
    zoo.browser.js("document.querySelector('main').append(document.createElement('button'))");
    assert!(controls(&zoo.browser).contains(&("button".to_owned(), String::new())));
}

#[test]
fn no_page_is_wider_than_a_phone() {
    let Some(zoo) = stocked() else { return };
    let wide = json!({ "name": "W".repeat(255), "categoryId": i64::MIN, "status": "available" });
    crate::support::catalogue::add(&zoo.client(), &wide);
    for (name, open) in VIEWS {
        zoo.browser.look(PHONE);
        open(&zoo);
        if name == "catalogue" {
            zoo.browser.click("#next");
            zoo.browser.reads("#rows", "WWWW");
        }
        for look in [PHONE, Look { width: 320, ..PHONE }] {
            zoo.browser.look(look);
            let width = zoo.browser.value("document.documentElement.scrollWidth").as_u64().unwrap();
            assert!(width <= look.width.into(), "{name}: {width} on {}", look.width);
        }
    }
}

#[test]
fn the_pages_lead_to_each_other() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    key_form(&zoo);
    zoo.browser.click("header a[href='/docs']");
    zoo.browser.see("#operations-pets-listPets");
    assert!(zoo.browser.url().starts_with(&zoo.page("/docs")));
    zoo.browser.click("a[href='/catalogue']");
    zoo.browser.see("#key");
}
