//! The page `/docs`: every operation can be read, and tried unless it says that it cannot.

use crate::support::{KEY, browser::Browser, zoo::Zoo};

pub(crate) const LIST: &str = "#operations-pets-listPets";
const CREATE: &str = "#operations-pets-createPet";
const GET: &str = "#operations-pets-getPet";
const ORDERS: &str = "#operations-store-listOrders";
pub(crate) const OPERATIONS: [&str; 4] = [LIST, CREATE, GET, ORDERS];

/// Opens the page.
#[track_caller]
fn visit(zoo: &Zoo) -> &Browser {
    zoo.browser.go(&zoo.page("/docs"));
    zoo.browser.see(LIST);
    &zoo.browser
}

/// Enters the key, as the dialog asks for it.
#[track_caller]
pub(crate) fn authorize(browser: &Browser, key: &str) {
    browser.click("button.authorize");
    browser.fill("[role=dialog] input", key);
    browser.click("[role=dialog] button[type=submit]");
    browser.click("[role=dialog] .btn-done");
    browser.until("!document.querySelector('[role=dialog]')");
}

/// Opens an operation.
#[track_caller]
pub(crate) fn open(browser: &Browser, operation: &str) {
    browser.click(&format!("{operation} .opblock-summary-control"));
    browser.see(&format!("{operation} .opblock-body"));
}

/// Sends the request of an open operation, and waits for an answer with this status.
#[track_caller]
pub(crate) fn execute(browser: &Browser, operation: &str, status: u16) {
    browser.click(&format!("{operation} button.execute"));
    browser.reads(&format!("{operation} .live-responses-table"), &status.to_string());
}

/// Waits until the answer of an operation has this text in its body.
#[track_caller]
fn answers(browser: &Browser, operation: &str, text: &str) {
    browser.reads(&format!("{operation} .live-responses-table"), text);
}

#[test]
fn the_list_is_read_page_by_page() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(25);
    let browser = visit(&zoo);
    authorize(browser, KEY);
    open(browser, LIST);
    execute(browser, LIST, 200);
    answers(browser, LIST, "pet 20");
    browser.click(&format!("{LIST} .next-page"));
    answers(browser, LIST, "pet 25");
    let shown = browser.text(&format!("{LIST} .live-responses-table"));
    assert!(!shown.contains("pet 20"), "{shown}");
    browser.until(&format!("!document.querySelector('{LIST} .next-page')"));
}

#[test]
fn an_animal_is_added_and_a_refusal_is_explained() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = visit(&zoo);
    authorize(browser, KEY);
    open(browser, CREATE);
    let body = format!("{CREATE} textarea.body-param__text");
    browser.fill(&body, r#"{"name":"Rex","categoryId":7,"status":"sold"}"#);
    execute(browser, CREATE, 201);
    answers(browser, CREATE, "Rex");
    assert_eq!(zoo.everything().len(), 1);

    browser.fill(&body, r#"{"name":"Rex","categoryId":7,"status":"lost"}"#);
    execute(browser, CREATE, 400);
    answers(browser, CREATE, "invalid_pet");
    answers(browser, CREATE, "`status`: must be one of available, pending");
    assert_eq!(zoo.everything().len(), 1);
}

#[test]
fn without_a_key_the_answer_says_what_is_missing() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = visit(&zoo);
    open(browser, LIST);
    execute(browser, LIST, 401);
    answers(browser, LIST, "unauthorized");
}

#[test]
fn the_key_is_forgotten_with_the_page() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = visit(&zoo);
    authorize(browser, KEY);
    let kept =
        "[...Object.values(sessionStorage), ...Object.values(localStorage), document.cookie]";
    assert!(!browser.value(kept).to_string().contains(KEY));
    assert!(!browser.url().contains(KEY));
    browser.reload();
    browser.see(LIST);
    open(browser, LIST);
    execute(browser, LIST, 401);
}

#[test]
fn the_orders_cannot_be_tried_and_the_rest_can() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = visit(&zoo);
    for operation in OPERATIONS {
        open(browser, operation);
        let buttons =
            format!("document.querySelectorAll('{operation} button:is(.execute, .try-out__btn)')");
        let tries = browser.value(&format!("{buttons}.length"));
        assert_eq!(tries, u8::from(operation != ORDERS), "{operation}");
    }
    browser.reads(ORDERS, "switched off");
    let operations = browser.value("document.querySelectorAll('.opblock').length");
    assert_eq!(operations, OPERATIONS.len());
}

#[test]
fn what_is_deprecated_or_not_yet_stable_is_marked() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = visit(&zoo);
    browser.reads(&format!("{GET} .opblock-summary"), "deprecated");
    browser.reads(&format!("{GET} .opblock-summary"), "5 December 2030");
    browser.reads(&format!("{ORDERS} .opblock-summary"), "experimental");
    for operation in [LIST, CREATE] {
        let summary = browser.text(&format!("{operation} .opblock-summary"));
        assert!(!summary.contains("deprecated") && !summary.contains("experimental"), "{summary}");
    }
    open(browser, CREATE);
    browser.reads(&format!("{CREATE} [data-param-name='Idempotency-Key']"), "beta");
}
