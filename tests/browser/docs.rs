//! The page `/docs`: every operation can be read, and tried unless it says that it cannot.

mod answers;
mod key;
mod reading;
mod samples;

use crate::support::{browser::Browser, zoo::Zoo};

pub(crate) const LIST: &str = "#listPets";
const CREATE: &str = "#createPet";
const GET: &str = "#getPet";
const ORDERS: &str = "#listOrders";
const OPERATIONS: [&str; 4] = [LIST, CREATE, GET, ORDERS];
const BODY: &str = "#createPet-body";

/// Opens the page.
#[track_caller]
fn visit(zoo: &Zoo) -> &Browser {
    zoo.browser.go(&zoo.page("/docs"));
    zoo.browser.see(LIST);
    &zoo.browser
}

/// Enters the key, and waits until it is accepted.
#[track_caller]
pub(crate) fn authorize(browser: &Browser, key: &str) {
    browser.fill("#key", key);
    browser.click("#key-send");
    browser.reads("#key-state", "accepted");
}

/// Opens all that is folded.
pub(crate) fn unfold(browser: &Browser) {
    browser.js("for (const folded of document.querySelectorAll('details')) folded.open = true;");
}

/// Sends the request of an operation, and waits for an answer with this status.
#[track_caller]
pub(crate) fn execute(browser: &Browser, operation: &str, status: u16) {
    browser.click(&format!("{operation} .execute"));
    browser.reads(&format!("{operation} .sent .status"), &status.to_string());
}

/// Waits until the answer of an operation has this text.
#[track_caller]
fn answers(browser: &Browser, operation: &str, text: &str) {
    browser.reads(&format!("{operation} .answer"), text);
}

/// Whether an operation shows an answer.
fn has_answer(browser: &Browser, operation: &str) -> bool {
    browser.value(&format!("document.querySelector('{operation} .answer').checkVisibility()"))
        == true
}
