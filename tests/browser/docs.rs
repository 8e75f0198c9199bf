//! The page `/docs`: a user can read every operation and send its request.

mod answers;
mod reading;
mod samples;

use crate::support::{KEY, browser::Browser, zoo::Zoo};

pub(crate) const LIST: &str = "#listPets";
pub(crate) const CREATE: &str = "#createPet";
const GET: &str = "#getPet";
const ORDERS: &str = "#listOrders";
const BODY: &str = "#createPet-body";

/// Opens the page without a key.
#[track_caller]
fn visit(zoo: &Zoo) -> &Browser {
    zoo.visit("/docs", "").see(LIST);
    &zoo.browser
}

/// Opens the page with a key.
#[track_caller]
fn enter(zoo: &Zoo) -> &Browser {
    zoo.visit("/docs", KEY).see(LIST);
    zoo.browser.reads("#key-state", "accepted");
    &zoo.browser
}

/// Enters a key, and waits until it is accepted.
#[track_caller]
pub(crate) fn authorize(browser: &Browser, key: &str) {
    browser.fill("#key", key);
    browser.click("#key-send");
    browser.reads("#key-state", "accepted");
}

/// Unfolds everything.
pub(crate) fn unfold(browser: &Browser) {
    browser.js("for (const folded of $$('details')) folded.open = true;");
}

/// Sends the request of an operation, and waits for a response with this status.
#[track_caller]
pub(crate) fn execute(browser: &Browser, operation: &str, status: u16) {
    browser.click(&format!("{operation} .execute"));
    browser.reads(&format!("{operation} .sent .status"), &status.to_string());
}

/// Waits until the response of an operation has this text.
#[track_caller]
fn answers(browser: &Browser, operation: &str, text: &str) {
    browser.reads(&format!("{operation} .answer"), text);
}

/// Returns whether an operation shows a response.
pub(crate) fn has_answer(browser: &Browser, operation: &str) -> bool {
    browser.value(&format!("$('{operation} .answer').checkVisibility()")) == true
}
