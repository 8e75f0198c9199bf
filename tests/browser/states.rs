//! The states of the pages that are worth a look, each with the way there.

use serde_json::json;

use crate::{
    catalogue::conditions::{answer_instead, hold_answers, set_offline},
    docs,
    support::{KEY, browser::Browser, catalogue, server::Launch, store::Store, wait, zoo::Zoo},
};

/// A state of a page: its name, and how to get there.
pub(crate) type State = (&'static str, fn(&Zoo));

pub(crate) const CATALOGUE: [State; 16] = [
    ("catalogue-key", catalogue_key),
    ("catalogue-wrong-key", wrong_key),
    ("catalogue-cut-off-key", cut_off_key),
    ("catalogue", catalogue),
    ("catalogue-read-only", read_only),
    ("catalogue-more", more),
    ("catalogue-pending", |zoo| filtered(zoo, "pending")),
    ("catalogue-no-status", |zoo| filtered(zoo, "none")),
    ("catalogue-second-page", second_page),
    ("catalogue-loading", loading),
    ("catalogue-empty", empty),
    ("catalogue-offline", offline),
    ("catalogue-one", one),
    ("catalogue-refused", refused),
    ("catalogue-unknown", unknown),
    ("catalogue-added", added),
];

pub(crate) const DOCS: [State; 9] = [
    ("docs", reference),
    ("docs-wrong-key", |zoo| {
        reference(zoo);
        enter_wrong_key(&zoo.browser);
    }),
    ("docs-key", |zoo| {
        reference(zoo);
        docs::authorize(&zoo.browser, KEY);
    }),
    ("docs-operation", |zoo| at(zoo, "listPets")),
    ("docs-adding", |zoo| at(zoo, "createPet")),
    ("docs-orders", |zoo| at(zoo, "listOrders")),
    ("docs-errors", |zoo| at(zoo, "errors")),
    ("docs-answer", answer),
    ("docs-open", opened),
];

/// Animals that look like a store.
const NAMES: [&str; 24] = [
    "Rex", "Mimi", "Bruno", "Lumi", "Hedwig", "Nemo", "Pip", "Otto", "Sushi", "Biscuit", "Clover",
    "Figaro", "Juno", "Kiwi", "Maple", "Nacho", "Olive", "Poppy", "Ziggy", "Tilda", "Momo", "Cleo",
    "Basil", "Ivy",
];

/// A zoo in which every state can be reached; `None` without Chromium.
pub(crate) fn zoo_or_skip() -> Option<Zoo> {
    let browser = Browser::open_or_skip()?;
    let store = Store::sqlite();
    let server = Launch::on(&store).flag("--environment", "staging").start();
    let zoo = Zoo { browser, server, store };
    for (number, name) in NAMES.iter().cycle().take(120).enumerate() {
        let mut pet = json!({ "name": name, "categoryId": number * 7 % 9 + 1 });
        let status =
            ["available", "sold", "available", "pending", "available", "", "sold"][number % 7];
        if !status.is_empty() {
            pet["status"] = json!(status);
        }
        catalogue::add(&zoo.client(), &pet);
    }
    Some(zoo)
}

/// Opens a page without a key, and with the network as it should be.
fn without_key(zoo: &Zoo, path: &str) {
    set_offline(&zoo.browser, false);
    zoo.browser.go(&zoo.page(path));
    zoo.browser.js("sessionStorage.clear()");
    zoo.browser.go(&zoo.page(path));
    zoo.browser.see("#key");
}

pub(crate) fn catalogue_key(zoo: &Zoo) {
    without_key(zoo, "/catalogue");
}

fn enter_wrong_key(browser: &Browser) {
    browser.fill("#key", "wrong-key-wrong-key");
    browser.click("#key-send");
    browser.reads("#key-error", "not accepted");
}

fn wrong_key(zoo: &Zoo) {
    catalogue_key(zoo);
    enter_wrong_key(&zoo.browser);
}

fn cut_off_key(zoo: &Zoo) {
    catalogue_key(zoo);
    zoo.browser.fill("#key", "pst_flDIBkGwcRKRL9GXCgaFM3UNu2jQTCl");
    zoo.browser.click("#key-send");
    zoo.browser.reads("#key-error", "incomplete");
}

pub(crate) fn catalogue(zoo: &Zoo) {
    catalogue_key(zoo);
    zoo.enter_key();
    zoo.browser.click("#count");
    zoo.browser.reads("#count-status", "in all");
    zoo.browser.js("scrollTo(0, 0)");
}

/// The key that may only read is made anew each time.
fn read_only(zoo: &Zoo) {
    let made = zoo.store.keys(&["create", "reader", "--read-only"]).succeeds();
    let key = made.split_whitespace().find(|word| word.starts_with("psr_")).unwrap();
    wait::until("the server takes the key", || {
        zoo.client().get("/v1/pets").key(key).send().status == 200
    });
    catalogue_key(zoo);
    zoo.browser.fill("#key", key);
    zoo.browser.click("#key-send");
    zoo.browser.see("#animals");
    zoo.store.keys(&["revoke", "reader"]).succeeds();
}

fn more(zoo: &Zoo) {
    catalogue(zoo);
    zoo.browser.js("more.click()");
}

fn filtered(zoo: &Zoo, status: &str) {
    catalogue(zoo);
    zoo.browser.click(&format!("#filter label:has([value={status}])"));
    zoo.browser.until("animals.ariaBusy === 'false'");
}

/// Turns to the next page, where nothing is over the button.
fn turn(browser: &Browser) {
    browser.js("next.scrollIntoView({ block: 'center' })");
    browser.click("#next");
}

fn second_page(zoo: &Zoo) {
    catalogue(zoo);
    turn(&zoo.browser);
    zoo.browser.reads("#page", "Page 2");
    zoo.browser.until("animals.ariaBusy === 'false'");
}

fn loading(zoo: &Zoo) {
    catalogue(zoo);
    hold_answers(&zoo.browser, "true");
    turn(&zoo.browser);
    zoo.browser.reads("#list-status", "Loading");
}

fn empty(zoo: &Zoo) {
    catalogue(zoo);
    zoo.browser.js("window.fetch = async () => new Response('[]')");
    zoo.browser.click("#filter label:has([value=sold])");
    zoo.browser.see("#empty");
}

fn offline(zoo: &Zoo) {
    catalogue(zoo);
    set_offline(&zoo.browser, true);
    zoo.browser.js("refresh.click(); count.click()");
    zoo.browser.see("#list-failure");
    zoo.browser.see("#count-failure");
}

fn one(zoo: &Zoo) {
    catalogue(zoo);
    zoo.browser.js("rows.rows[3].querySelector('button').click()");
    zoo.browser.see("#found");
}

fn fill_in(browser: &Browser, name: &str, category: &str) {
    browser.fill("#name", name);
    browser.fill("#categoryId", category);
    browser.click("#add-send");
}

fn refused(zoo: &Zoo) {
    catalogue(zoo);
    fill_in(&zoo.browser, "   ", "9223372036854775808");
    zoo.browser.see("#name-error");
}

fn unknown(zoo: &Zoo) {
    catalogue(zoo);
    answer_instead(&zoo.browser, "POST", 503, "unavailable");
    fill_in(&zoo.browser, "Rex", "7");
    zoo.browser.reads("#add-failure", "It is not known");
}

fn added(zoo: &Zoo) {
    catalogue(zoo);
    fill_in(&zoo.browser, "Rex", "7");
    zoo.browser.reads("#added", "Added Rex");
    zoo.browser.until("animals.ariaBusy === 'false'");
}

pub(crate) fn reference(zoo: &Zoo) {
    without_key(zoo, "/docs");
    zoo.browser.see(docs::LIST);
}

/// A section at the top of the window.
fn at(zoo: &Zoo, section: &str) {
    reference(zoo);
    zoo.browser.js(&format!("location.hash = '{section}'"));
}

fn answer(zoo: &Zoo) {
    reference(zoo);
    docs::authorize(&zoo.browser, KEY);
    docs::execute(&zoo.browser, docs::LIST, 200);
    let section = format!("innerWidth > 600 ? '{0}' : '{0} .try'", docs::LIST);
    zoo.browser.js(&format!("document.querySelector({section}).scrollIntoView()"));
}

/// All that is folded open, with a key, and with an answer.
pub(crate) fn opened(zoo: &Zoo) {
    reference(zoo);
    docs::authorize(&zoo.browser, KEY);
    docs::execute(&zoo.browser, docs::LIST, 200);
    docs::unfold(&zoo.browser);
}
