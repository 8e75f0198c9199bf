//! The text of the page: its contents, its addresses, and its layout on a phone.

use petstore_testing::needs;
use serde_json::json;

use super::{CREATE, GET, LIST, ORDERS, unfold, visit};
use crate::support::{browser::PHONE, zoo::Zoo};

#[needs(chromium)]
#[test]
fn an_operation_has_its_stability_and_errors_and_nothing_is_said_twice() {
    let zoo = Zoo::open();
    let browser = visit(&zoo);
    browser.reads(&format!("{GET} h3"), "deprecated, removed on 5 December 2030");
    browser.reads(&format!("{ORDERS} h3"), "experimental");
    // An operation that the service does not offer has only a title and one line of text.
    browser.is(&format!("$$('{ORDERS} > *').length"), 2);
    browser.is(&format!("$$('{ORDERS} :is(input, form, details, pre, .execute)').length"), 0);
    for operation in [LIST, CREATE] {
        let title = browser.text(&format!("{operation} h3"));
        assert!(!title.contains("deprecated") && !title.contains("experimental"), "{title}");
    }
    browser.reads(&format!("{CREATE} .fields .field:first-child"), "Idempotency-Key string beta");
    browser.reads(&format!("{CREATE} .description"), "Responses");

    // The errors are folded. Each has a code, a reason and a body.
    let folded = format!("$$('{CREATE} details.error:not([open])')");
    browser.is(
        &format!("{folded}.map(e => e.querySelector('.status').innerText)"),
        json!(["400", "403", "415", "422"]),
    );
    let error = format!("{CREATE} details.error");
    assert!(!browser.text(&error).contains("not a new animal"));
    browser.click(&format!("{error} > summary"));
    for text in ["invalid_pet", "not a new animal", "An id in the body", "\"status\": 400"] {
        browser.reads(&error, text);
    }

    // Repetition would confuse: errors that every operation has stand in one place, and the page omits bounds and
    // values that the text already gives.
    unfold(browser);
    let common = "Like every operation: 401, 408, 413, 429, 500, 503.";
    browser.reads(&format!("{LIST} .description"), common);
    let common = browser.text("#errors");
    for code in ["unauthorized", "rate_limited", "unavailable"] {
        let heads = "$$('.error > summary').map(e => e.innerText)";
        browser.is(&format!("{heads}.filter(head => head.includes('{code}')).length"), 1);
        assert!(common.contains(code), "{code}: {common}");
    }
    let page = browser.text("main");
    for text in ["1 to 257", "At least 1", "One of invalid_request", "9223372036854775807."] {
        assert!(!page.contains(text), "{text}");
    }
}

#[needs(chromium)]
#[test]
fn an_operation_has_an_address_that_outlives_a_reload_and_its_form_stays_in_view() {
    let zoo = Zoo::open();
    let browser = visit(&zoo);
    let top = format!("$('{CREATE}').getBoundingClientRect().top");
    browser.is(&format!("{top} > 600"), true);
    // The table of contents marks the current section from the start.
    browser.until("$('nav a[href=\"#start\"]').ariaCurrent === 'true'");
    browser.click(&format!("nav a[href='{CREATE}']"));
    browser.until(&format!("location.hash === '{CREATE}'"));
    for _ in 0..2 {
        browser.see(CREATE);
        browser.until(&format!("Math.abs({top}) < 100"));
        browser.until(&format!("$('nav a[href=\"{CREATE}\"]').ariaCurrent"));
        browser.reload();
    }
    for operation in [LIST, CREATE, GET] {
        browser.js(&format!(
            "$('{operation} .description > h4:last-of-type').scrollIntoView({{ block: 'center' }})"
        ));
        let aside = format!("$('{operation} .aside').getBoundingClientRect()");
        browser.until(&format!(
            "(box => box.top >= 0 && box.top < 300 && box.bottom <= innerHeight)({aside})"
        ));
    }

    // On a phone the table of contents is folded.
    browser.look(PHONE);
    browser.go(&zoo.page("/docs?phone"));
    browser.see(LIST);
    browser.is("$('h1').getBoundingClientRect().top < 150", true);
    browser.click("#fold");
    browser.click(&format!("#contents a[href='{CREATE}']"));
    browser.until("fold.ariaExpanded === 'false'");
    // The section begins below the sticky bar.
    browser.until(&format!("{top} >= fold.getBoundingClientRect().bottom"));
}
