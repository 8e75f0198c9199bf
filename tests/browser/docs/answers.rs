//! Sending the request of an operation, and its response on the page.

use petstore_testing::needs;
use serde_json::json;
use thirtyfour::Key;

use super::{BODY, CREATE, GET, LIST, answers, enter, execute, has_answer};
use crate::support::{catalogue, zoo::Zoo};

#[needs(chromium)]
#[test]
fn the_list_is_read_page_by_page_and_its_response_has_headers_and_time() {
    let zoo = Zoo::with(25);
    let browser = enter(&zoo);
    browser.fill("#listPets-X-Request-Id", "named-by-me");
    // The status line is announced, and the focus stays on the button.
    browser.js(&format!("$('{LIST} .execute').focus()"));
    browser.press(Key::Enter);
    browser.reads(&format!("{LIST} [role=status]"), "200 OK in ");
    browser.is("document.activeElement.textContent", "Send request");
    answers(browser, LIST, "pet 20");
    browser.click(&format!("{LIST} .received summary"));
    browser.reads(&format!("{LIST} .received"), "x-request-id\nnamed-by-me");
    browser.click(&format!("{LIST} .next-page"));
    answers(browser, LIST, "pet 25");
    let shown = browser.text(&format!("{LIST} .answer"));
    assert!(!shown.contains("pet 20"), "{shown}");
    browser.is(&format!("$('{LIST} .next-page').checkVisibility()"), false);
    // The button is gone, so the response has the focus.
    browser.is("document.activeElement.closest('.answer') !== null", true);

    // An outage is reported as such, and the earlier response disappears.
    browser.set_offline(true);
    browser.click(&format!("{LIST} .execute"));
    browser.reads(&format!("{LIST} [role=status]"), "did not answer");
    assert!(!browser.text(&format!("{LIST} [role=status]")).contains("CORS"));
    assert!(!has_answer(browser, LIST));
    browser.set_offline(false);
    execute(browser, LIST, 200);
}

#[needs(chromium)]
#[test]
fn an_animal_is_added_with_every_digit_and_a_refusal_is_explained() {
    let zoo = Zoo::open();
    let large = json!({ "name": "Rex", "categoryId": i64::MAX - 1 });
    catalogue::add(&zoo.client(), &large);
    let browser = enter(&zoo);
    execute(browser, LIST, 200);
    answers(browser, LIST, "9223372036854775806");
    browser.fill(BODY, r#"{"name":"Rex","categoryId":-9223372036854775808,"status":"sold"}"#);
    execute(browser, CREATE, 201);
    answers(browser, CREATE, "-9223372036854775808");
    assert_eq!(zoo.everything().len(), 2);
    browser.fill(BODY, r#"{"name":"Rex","categoryId":7,"status":"lost"}"#);
    execute(browser, CREATE, 400);
    answers(browser, CREATE, "invalid_pet");
    answers(browser, CREATE, "`status`: must be one of available, pending");
    assert_eq!(zoo.everything().len(), 2);
}

#[needs(chromium)]
#[test]
fn an_invalid_value_is_refused_at_its_field() {
    let zoo = Zoo::open();
    let browser = enter(&zoo);
    execute(browser, CREATE, 201);
    browser.requests();
    for (body, fault) in [("", "empty"), (" ", "empty"), (r#"{"name":"#, "not JSON")] {
        browser.fill(BODY, body);
        browser.click(&format!("{CREATE} .execute"));
        browser.reads(&format!("{BODY}-fault"), fault);
        browser.focus_is_on(&BODY[1..]);
        browser.is(&format!("$('{BODY}').ariaInvalid"), "true");
        assert!(!has_answer(browser, CREATE), "the response to the earlier request is still shown");
    }
    let posts = browser.requests().iter().filter(|request| request.method == "POST").count();
    assert_eq!(posts, 0);
    browser.fill(BODY, r#"{"name":"Rex","categoryId":7}"#);
    browser.is(&format!("$('{BODY}-fault').checkVisibility()"), false);
    execute(browser, CREATE, 201);
    assert_eq!(zoo.everything().len(), 2);

    browser.click(&format!("{GET} .execute"));
    browser.reads("#getPet-petId-fault", "Enter a value");
    browser.focus_is_on("getPet-petId");
    browser.fill("#getPet-petId", "7");
    execute(browser, GET, 404);
    browser.fill("#getPet-X-Request-Id", "ключ");
    browser.click(&format!("{GET} .execute"));
    browser.reads("#getPet-X-Request-Id-fault", "ASCII");
    assert!(!has_answer(browser, GET));
}
