//! The text of the page, for each reader, in each form.

use petstore_testing::needs;
use serde_json::json;

use super::{CREATE, GET, LIST, ORDERS, unfold, visit};
use crate::support::{
    browser::{Browser, Look, PHONE},
    zoo::Zoo,
};

#[needs(chromium)]
#[test]
fn what_is_deprecated_or_not_yet_stable_is_marked() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = visit(&zoo);
    browser.reads(&format!("{GET} h3"), "deprecated, removed on 5 December 2030");
    browser.reads(&format!("{ORDERS} h3"), "experimental");
    for operation in [LIST, CREATE] {
        let title = browser.text(&format!("{operation} h3"));
        assert!(!title.contains("deprecated") && !title.contains("experimental"), "{title}");
    }
    browser.reads(&format!("{CREATE} .fields .field:first-child"), "Idempotency-Key string beta");
}

#[needs(chromium)]
#[test]
fn a_parameter_has_its_type_bounds_and_default() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = visit(&zoo);
    let limit = browser.text(&format!("{LIST} .fields .field"));
    for text in ["limit int32", "query", "1 to 100.", "Default: 20."] {
        assert!(limit.contains(text), "{text}: {limit}");
    }
    browser.reads(&format!("{LIST} .fields"), "One of available, pending, sold.");
    let id = browser.text(&format!("{GET} .fields .field"));
    assert!(id.contains("petId int64 required"), "{id}");
    browser.reads(&format!("{CREATE} .description"), "name string required");
}

#[needs(chromium)]
#[test]
fn the_errors_of_an_operation_are_folded_and_have_code_reason_and_body() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = visit(&zoo);
    let folded = format!("document.querySelectorAll('{CREATE} details.error:not([open])')");
    let statuses =
        browser.value(&format!("[...{folded}].map(e => e.querySelector('.status').innerText)"));
    assert_eq!(statuses, json!(["400", "403", "415", "422"]));
    let error = format!("{CREATE} details.error");
    assert!(!browser.text(&error).contains("not a new animal"));
    browser.click(&format!("{error} > summary"));
    for text in ["invalid_pet", "not a new animal", "An id in the body", "\"status\": 400"] {
        browser.reads(&error, text);
    }
}

/// Repetitions confuse: an error that every operation has, a bound or a list of values that the text
/// gives in words already.
#[needs(chromium)]
#[test]
fn nothing_is_said_twice() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = visit(&zoo);
    unfold(browser);
    browser.reads(
        &format!("{LIST} .description"),
        "As every operation: 401, 408, 413, 429, 500, 503.",
    );
    let common = browser.text("#errors");
    for code in ["`unauthorized`", "`rate_limited`", "`unavailable`"] {
        let code = code.trim_matches('`');
        let heads = "[...document.querySelectorAll('.error > summary')].map(e => e.innerText)";
        let heads = browser.value(heads).as_array().unwrap().clone();
        let heads = heads.iter().filter(|head| head.as_str().unwrap().contains(code));
        assert_eq!(heads.count(), 1, "{code}");
        assert!(common.contains(code), "{code}: {common}");
    }
    let page = browser.text("main");
    for text in ["1 to 257", "At least 1", "One of invalid_request", "9223372036854775807."] {
        assert!(!page.contains(text), "{text}");
    }
}

/// Where the top of the create operation is in the window, in CSS pixels.
fn top(browser: &Browser) -> f64 {
    let top = format!("document.querySelector('{CREATE}').getBoundingClientRect().top");
    browser.value(&top).as_f64().unwrap()
}

#[needs(chromium)]
#[test]
fn an_operation_has_an_address_that_outlives_a_reload() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = visit(&zoo);
    assert!(top(browser) > 600.0);
    browser.click(&format!("nav a[href='{CREATE}']"));
    browser.until(&format!("location.hash === '{CREATE}'"));
    for _ in 0..2 {
        browser.see(CREATE);
        browser.until(&format!(
            "Math.abs(document.querySelector('{CREATE}').getBoundingClientRect().top) < 100"
        ));
        browser.until(&format!("document.querySelector(\"nav a[href='{CREATE}']\").ariaCurrent"));
        browser.reload();
    }
}

#[needs(chromium)]
#[test]
fn without_javascript_the_page_leads_to_what_works_without_it() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = &zoo.browser;
    browser.devtools("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
    browser.go(&zoo.page("/docs"));
    let tree = browser.devtools("Accessibility.getFullAXTree", json!({})).to_string();
    browser.devtools("Emulation.setScriptExecutionDisabled", json!({ "value": false }));
    for text in ["List the animals of the store", "curl http", "the whole interface as one text"] {
        assert!(tree.contains(text), "{text}: {tree}");
    }
    for text in ["Loading the operations", "Your API key"] {
        assert!(!tree.contains(text), "{text}: {tree}");
    }
}

#[needs(chromium)]
#[test]
fn on_paper_everything_is_open_and_nothing_is_a_control() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = visit(&zoo);
    browser.devtools("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    let controls = "[...document.querySelectorAll('button, input, select, textarea')]";
    assert_eq!(browser.value(&format!("{controls}.some(e => e.checkVisibility())")), false);
    for operation in [LIST, CREATE, GET] {
        browser.reads(&format!("{operation} details.error"), "\"code\"");
        browser.reads(&format!("{operation} .sample"), "curl");
    }
    browser.devtools("Emulation.setEmulatedMedia", json!({ "media": "" }));
}

/// The elements that stick out of the box that they belong to, or of the window.
const OUTSIDE: &str = "
    const boxes = '.card, .try, .panel, .row, .description, .aside';
    return [...document.querySelectorAll('main *')].filter(e => e.checkVisibility()).filter(e => {
        const { right, width } = e.getBoundingClientRect(), box = e.parentElement.closest(boxes);
        if (width === 0 || e.closest('pre, .scroll')?.contains(e.parentElement)) return false;
        return right > innerWidth + 1 || (box && right > box.getBoundingClientRect().right + 1);
    }).map(e => e.outerHTML.slice(0, 80));
";

#[needs(chromium)]
#[test]
fn nothing_leaves_its_card_on_the_narrowest_phone() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.browser.look(Look { width: 320, ..PHONE });
    let browser = visit(&zoo);
    unfold(browser);
    assert_eq!(browser.js(OUTSIDE), json!([]));
    browser.js("document.querySelector('.try').style.width = '4rem'");
    assert_ne!(browser.js(OUTSIDE), json!([]), "what sticks out is noticed");
}
