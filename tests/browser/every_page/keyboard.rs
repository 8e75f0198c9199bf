//! The pages without a mouse.

use petstore_testing::needs;
use serde_json::Value;
use thirtyfour::Key;

use crate::{states, support::browser::Browser};

/// Where the focus is: what it is called, and whether it can be seen. A control that draws nothing
/// itself has its ring around what stands beside it.
const FOCUS: &str = "
    const element = document.activeElement, ring = style =>
        (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== 'none';
    const seen = [element, element.nextElementSibling].some(e => e && ring(getComputedStyle(e)));
    const box = element.getBoundingClientRect();
    return [element.id || element.textContent.trim(), seen && box.width > 0 && box.top >= 0 && box.bottom <= innerHeight];
";

/// The names of what Tab reaches, one after the other, until the page is through.
fn walk(browser: &Browser) -> Vec<String> {
    browser.focus_nothing();
    let mut names = Vec::new();
    for _ in 0..200 {
        browser.press(Key::Tab);
        if browser.value("document.activeElement === document.body") == true {
            return names;
        }
        let focus = browser.js(FOCUS);
        let [Value::String(name), Value::Bool(seen)] = &focus.as_array().unwrap()[..] else {
            panic!("{focus}")
        };
        assert!(seen, "the focus on {name} cannot be seen");
        if names.first() == Some(name) && names.len() > 3 {
            return names;
        }
        names.push(name.clone());
    }
    panic!("Tab is caught: {names:?}");
}

/// Holds that `expected` comes in this order, whatever is between.
#[track_caller]
fn holds_in_order(names: &[String], expected: &[&str]) {
    let mut rest = names.iter();
    for wanted in expected {
        assert!(rest.any(|name| name == wanted), "{wanted} in its turn: {names:?}");
    }
}

#[needs(chromium)]
#[test]
fn tab_reaches_every_control_of_the_catalogue_in_order() {
    let Some(zoo) = super::stocked() else { return };
    states::catalogue_key(&zoo);
    let entrance = ["Skip to the content", "Catalogue", "Reference", "key", "key-show", "key-send"];
    holds_in_order(&walk(&zoo.browser), &entrance);
    states::catalogue(&zoo);
    let names = walk(&zoo.browser);
    let expected = [
        "Skip to the content",
        "Catalogue",
        "Reference",
        "forget",
        "find-id",
        "find-send",
        "limit",
        "copy",
        "refresh",
        "pet 1",
        "pet 20",
        "first",
        "previous",
        "next",
        "name",
        "categoryId",
        "status",
        "add-send",
        "count",
    ];
    holds_in_order(&names, &expected);
}

#[needs(chromium)]
#[test]
fn tab_reaches_the_operations_of_the_reference() {
    let Some(zoo) = super::stocked() else { return };
    states::reference(&zoo);
    let names = walk(&zoo.browser);
    assert!(names.len() > 8, "{names:?}");
    assert!(names[0].starts_with("Skip to the"), "{names:?}");
}

/// The skip link leads into the page.
pub(super) fn can_be_skipped_to(name: &str, browser: &Browser) {
    browser.focus_nothing();
    browser.press(Key::Tab);
    browser.press(Key::Enter);
    browser.press(Key::Tab);
    let inside = browser.value("!!document.activeElement.closest('main')");
    assert_eq!(inside, true, "{name}");
}

#[needs(chromium)]
#[test]
fn the_catalogue_can_be_used_with_the_keyboard_alone() {
    let Some(zoo) = super::stocked() else { return };
    states::catalogue(&zoo);
    let browser = &zoo.browser;
    browser.js("filter.querySelector('input').focus()");
    browser.press(Key::Right);
    browser.press(Key::Right);
    browser.reads("#list-status", "7 animals shown");
    browser.js("document.getElementById('name').focus()");
    browser.press("R");
    browser.press(Key::Tab);
    browser.press("7");
    browser.press(Key::Enter);
    browser.reads("#added", "Added R (id 26, category 7).");
    assert_eq!(browser.value("document.activeElement.id"), "name");
}
