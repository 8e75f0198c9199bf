//! Trying an operation: what is sent, and what is shown of the answer.

use petstore_testing::needs;
use serde_json::json;
use thirtyfour::Key;

use super::{
    BODY, CREATE, GET, LIST, OPERATIONS, ORDERS, answers, authorize, execute, has_answer, visit,
};
use crate::support::{KEY, browser::Browser, catalogue, zoo::Zoo};

#[needs(chromium)]
#[test]
fn the_list_is_read_page_by_page() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(25);
    let browser = visit(&zoo);
    authorize(browser, KEY);
    execute(browser, LIST, 200);
    answers(browser, LIST, "pet 20");
    browser.click(&format!("{LIST} .next-page"));
    answers(browser, LIST, "pet 25");
    let shown = browser.text(&format!("{LIST} .answer"));
    assert!(!shown.contains("pet 20"), "{shown}");
    let next = format!("document.querySelector('{LIST} .next-page')");
    assert_eq!(browser.value(&format!("{next}.checkVisibility()")), false);
    // The button took the focus with it, so that the answer has it.
    let focus = browser.value("document.activeElement.closest('.answer') !== null");
    assert_eq!(focus, true);
}

#[needs(chromium)]
#[test]
fn an_animal_is_added_and_a_refusal_is_explained() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = visit(&zoo);
    authorize(browser, KEY);
    browser.fill(BODY, r#"{"name":"Rex","categoryId":7,"status":"sold"}"#);
    execute(browser, CREATE, 201);
    answers(browser, CREATE, "Rex");
    assert_eq!(zoo.everything().len(), 1);

    browser.fill(BODY, r#"{"name":"Rex","categoryId":7,"status":"lost"}"#);
    execute(browser, CREATE, 400);
    answers(browser, CREATE, "invalid_pet");
    answers(browser, CREATE, "`status`: must be one of available, pending");
    assert_eq!(zoo.everything().len(), 1);
}

#[needs(chromium)]
#[test]
fn a_body_that_is_no_json_is_refused_at_its_field_and_not_sent() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = visit(&zoo);
    authorize(browser, KEY);
    execute(browser, CREATE, 201);
    browser.requests();
    for (body, fault) in [("", "empty"), (" ", "empty"), (r#"{"name":"#, "not JSON")] {
        browser.fill(BODY, body);
        browser.click(&format!("{CREATE} .execute"));
        browser.reads(&format!("{BODY}-fault"), fault);
        assert_eq!(browser.value("document.activeElement.id"), &BODY[1..]);
        assert_eq!(browser.value(&format!("document.querySelector('{BODY}').ariaInvalid")), "true");
        assert!(!has_answer(browser, CREATE), "the answer to the request before");
    }
    let posts = browser.requests().iter().filter(|request| request.method == "POST").count();
    assert_eq!(posts, 0);
    browser.fill(BODY, r#"{"name":"Rex","categoryId":7}"#);
    let fault = format!("document.querySelector('{BODY}-fault').checkVisibility()");
    assert_eq!(browser.value(&fault), false);
    execute(browser, CREATE, 201);
    assert_eq!(zoo.everything().len(), 2);
}

#[needs(chromium)]
#[test]
fn an_identifier_that_is_missing_and_a_header_that_cannot_be_sent_are_refused_at_their_fields() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = visit(&zoo);
    authorize(browser, KEY);
    browser.click(&format!("{GET} .execute"));
    browser.reads("#getPet-petId-fault", "Enter a value");
    assert_eq!(browser.value("document.activeElement.id"), "getPet-petId");
    browser.fill("#getPet-petId", "7");
    execute(browser, GET, 404);
    browser.fill("#getPet-X-Request-Id", "ключ");
    browser.click(&format!("{GET} .execute"));
    browser.reads("#getPet-X-Request-Id-fault", "ASCII");
    assert!(!has_answer(browser, GET));
}

#[needs(chromium)]
#[test]
fn numbers_are_shown_with_every_digit() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let large = json!({ "name": "Rex", "categoryId": i64::MAX - 1 });
    catalogue::add(&zoo.client(), &large);
    let browser = visit(&zoo);
    authorize(browser, KEY);
    execute(browser, LIST, 200);
    answers(browser, LIST, "9223372036854775806");
    browser.fill(BODY, r#"{"name":"Rex","categoryId":-9223372036854775808}"#);
    execute(browser, CREATE, 201);
    answers(browser, CREATE, "-9223372036854775808");
}

#[needs(chromium)]
#[test]
fn the_answer_has_its_headers_and_its_time() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = visit(&zoo);
    authorize(browser, KEY);
    browser.fill("#listPets-X-Request-Id", "named-by-me");
    execute(browser, LIST, 200);
    browser.reads(&format!("{LIST} .sent"), " ms");
    browser.click(&format!("{LIST} .received summary"));
    browser.reads(&format!("{LIST} .received"), "x-request-id\nnamed-by-me");
}

#[needs(chromium)]
#[test]
fn without_a_key_the_answer_says_what_is_missing() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = visit(&zoo);
    browser.reads(&format!("{LIST} .keyless"), "Without a key the response is 401");
    execute(browser, LIST, 401);
    answers(browser, LIST, "unauthorized");
}

/// What an assistive program announces of a request: the text of its `status`.
fn announced(browser: &Browser) -> String {
    browser.text(&format!("{LIST} [role=status]"))
}

#[needs(chromium)]
#[test]
fn an_answer_is_announced_and_the_focus_stays() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = visit(&zoo);
    authorize(browser, KEY);
    browser.js(&format!("document.querySelector('{LIST} .execute').focus()"));
    browser.press(Key::Enter);
    browser.reads(&format!("{LIST} [role=status]"), "200 OK in ");
    let focus = browser.value("document.activeElement.classList.contains('execute')");
    assert_eq!(focus, true);
}

#[needs(chromium)]
#[test]
fn an_outage_is_called_what_it_is() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = visit(&zoo);
    authorize(browser, KEY);
    execute(browser, LIST, 200);
    browser.devtools("Network.enable", json!({}));
    let network = json!({ "offline": true, "latency": 0, "downloadThroughput": -1,
        "uploadThroughput": -1 });
    browser.devtools("Network.emulateNetworkConditions", network);
    browser.click(&format!("{LIST} .execute"));
    browser.reads(&format!("{LIST} [role=status]"), "did not answer");
    assert!(!announced(browser).contains("CORS"));
    assert!(!has_answer(browser, LIST), "the answer to the request before");
    let network = json!({ "offline": false, "latency": 0, "downloadThroughput": -1,
        "uploadThroughput": -1 });
    browser.devtools("Network.emulateNetworkConditions", network);
    execute(browser, LIST, 200);
    assert!(announced(browser).starts_with("200 OK in "));
}

#[needs(chromium)]
#[test]
fn the_orders_cannot_be_tried_and_the_rest_can() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = visit(&zoo);
    let count =
        |selector: &str| browser.value(&format!("document.querySelectorAll('{selector}').length"));
    for operation in OPERATIONS {
        let expected = u8::from(operation != ORDERS);
        assert_eq!(count(&format!("{operation} .execute")), expected, "{operation}");
    }
    // What is not offered takes a title and a line.
    browser.reads(ORDERS, "GET /v1/store/orders Named by the interface");
    assert_eq!(count(&format!("{ORDERS} > *")), 2);
    assert_eq!(count(&format!("{ORDERS} :is(input, form, details, pre)")), 0);
    assert_eq!(count(".operation"), OPERATIONS.len());
}
