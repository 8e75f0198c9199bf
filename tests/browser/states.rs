//! States of the pages: how to reach each one, its particular text, and the rules for every state. Takes screenshots
//! of each state for desktop and phone, light and dark.

use std::fs;

use petstore_testing::{needs, say};
use serde_json::json;

use crate::{
    docs::{self, LIST, authorize, execute, unfold},
    rules::{CHECKS, NARROW, WIDTHS, stays_inside},
    support::{
        KEY,
        browser::{Browser, DESK, Look, PHONE},
        catalogue,
        server::Launch,
        store::Store,
        zoo::Zoo,
    },
};

/// The name of a state, and a function that opens it.
type State = (&'static str, fn(&Zoo));

const CATALOGUE: [State; 18] = [
    ("catalogue-key", catalogue_key),
    ("catalogue-wrong-key", wrong_key),
    ("catalogue-cut-off-key", cut_off_key),
    ("catalogue", list),
    ("catalogue-read-only", read_only),
    ("catalogue-more", |zoo| _ = zoo.enter("/catalogue").js("more.click()")),
    ("catalogue-pending", |zoo| _ = zoo.enter("/catalogue?status=pending")),
    ("catalogue-no-status", |zoo| _ = zoo.enter("/catalogue?status=none")),
    ("catalogue-second-page", second_page),
    ("catalogue-loading", loading),
    ("catalogue-empty", empty),
    ("catalogue-offline", offline),
    ("catalogue-bad-cursor", bad_cursor),
    ("catalogue-one", one),
    ("catalogue-missing", missing),
    ("catalogue-refused", refused),
    ("catalogue-unknown", unknown),
    ("catalogue-added", added),
];

const DOCS: [State; 9] = [
    ("docs", reference),
    ("docs-wrong-key", |zoo| {
        reference(zoo);
        enter_wrong_key(zoo);
        zoo.browser.is("$('#key-state').textContent", "");
    }),
    ("docs-key", |zoo| {
        reference(zoo);
        enter_wrong_key(zoo);
        authorize(&zoo.browser, KEY);
        zoo.browser.is("$('#key-error').checkVisibility()", false);
    }),
    ("docs-operation", |zoo| at(zoo, "listPets")),
    ("docs-adding", |zoo| at(zoo, "createPet")),
    ("docs-orders", |zoo| at(zoo, "listOrders")),
    ("docs-errors", |zoo| at(zoo, "errors")),
    ("docs-answer", answer),
    ("docs-open", opened),
];

/// Names for a plausible store.
const NAMES: [&str; 24] = [
    "Rex", "Mimi", "Bruno", "Lumi", "Hedwig", "Nemo", "Pip", "Otto", "Sushi", "Biscuit", "Clover",
    "Figaro", "Juno", "Kiwi", "Maple", "Nacho", "Olive", "Poppy", "Ziggy", "Tilda", "Momo", "Cleo",
    "Basil", "Ivy",
];

/// Starts a service on which every state can be reached. The last animal has the widest name and category.
pub(crate) fn zoo() -> Zoo {
    let store = Store::sqlite();
    let server = Launch::on(&store).flag("--environment", "staging").start();
    let zoo = Zoo { browser: Browser::open(), server, store };
    for (number, name) in NAMES.iter().cycle().take(120).enumerate() {
        let mut pet = json!({ "name": name, "categoryId": number * 7 % 9 + 1 });
        let status =
            ["available", "sold", "available", "pending", "available", "", "sold"][number % 7];
        if !status.is_empty() {
            pet["status"] = json!(status);
        }
        catalogue::add(&zoo.client(), &pet);
    }
    let wide = json!({ "name": wide(), "categoryId": i64::MIN, "status": "available" });
    catalogue::add(&zoo.client(), &wide);
    zoo
}

fn wide() -> String {
    "W".repeat(255)
}

#[needs(chromium)]
#[test]
fn every_state_of_the_catalogue_keeps_every_rule_and_has_its_picture() {
    keeps_every_rule(&CATALOGUE);
}

#[needs(chromium)]
#[test]
fn every_state_of_the_reference_keeps_every_rule_and_has_its_picture() {
    keeps_every_rule(&DOCS);
}

#[track_caller]
fn keeps_every_rule(states: &[State]) {
    let zoo = zoo();
    let browser = &zoo.browser;
    for (name, open) in states {
        open(&zoo);
        let scroll = browser.value("scrollY");
        for (device, look) in [("phone", PHONE), ("desk", DESK)] {
            browser.look(look);
            let mut light = Vec::new();
            for (scheme, dark) in [("light", false), ("dark", true)] {
                browser.look(Look { dark, ..look });
                browser.js(&format!("scrollTo(0, {scroll})"));
                let path = browser.screenshot(&format!("{name}-{device}-{scheme}"));
                let picture = fs::read(&path).unwrap();
                assert_ne!(picture, light, "{} is equal to the light screenshot", path.display());
                light = picture;
            }
        }
        for width in WIDTHS {
            browser.look(Look { width, ..PHONE });
            let shown = browser.value("document.documentElement.scrollWidth");
            assert!(shown.as_u64() <= Some(width.into()), "{name}: {shown} px wide on {width}");
            assert!(width > NARROW || stays_inside(browser), "{name}, {width}");
        }
        browser.look(DESK);
        for check in CHECKS {
            check(name, browser);
        }
        browser.set_offline(false);
    }
    say(&format!("pictures of the pages: {}/screenshots", env!("CARGO_TARGET_TMPDIR")));
}

/// The only form is in the middle, and tells newcomers what to do.
fn catalogue_key(zoo: &Zoo) {
    let browser = zoo.visit("/catalogue", "");
    browser.focus_is_on("key");
    browser.reads("#key-hint", "petstore keys create NAME");
    browser.is("key.placeholder", "pst_…");
    browser.see("#entrance + p a[href=docs]");
    browser.until("(box => Math.abs(box.left + box.right - document.body.clientWidth) < 2)(entrance.getBoundingClientRect())");
}

fn enter_wrong_key(zoo: &Zoo) {
    let browser = zoo.enter_key("wrong-key-wrong-key");
    browser.reads("#key-error", "This key is not accepted: revoked, expired or mistyped.");
    browser.focus_is_on("key");
    browser.is("key.ariaInvalid", "true");
    browser.is("sessionStorage.length", 0);
}

fn wrong_key(zoo: &Zoo) {
    catalogue_key(zoo);
    enter_wrong_key(zoo);
    zoo.browser.is("$('#catalogue').checkVisibility()", false);
}

fn cut_off_key(zoo: &Zoo) {
    catalogue_key(zoo);
    zoo.enter_key("pst_flDIBkGwcRKRL9GXCgaFM3UNu2jQTCl").reads("#key-error", "incomplete");
}

/// The list after the key was entered and the animals were counted.
pub(crate) fn list(zoo: &Zoo) {
    catalogue_key(zoo);
    let browser = zoo.enter_key(KEY);
    browser.see("#rows tr");
    browser.focus_is_on("list-title");
    browser.is("entrance.checkVisibility()", false);
    // Numbers are right-aligned, so that they can be compared.
    browser.is("$$('th.id, td.id, th.category, td.category').every(e => getComputedStyle(e).textAlign === 'right')", true);
    browser.click("#count");
    browser.reads("#count-status", "in all");
    browser.js("scrollTo(0, 0)");
}

/// The list with a read-only key, which is new each time.
fn read_only(zoo: &Zoo) {
    let key = zoo.new_key(&["reader", "--read-only"]);
    let browser = zoo.enter_with("/catalogue", &key);
    browser.reads("header", "Read-only key");
    browser.reads(".adder", "This key may only read.");
    browser.is("add.checkVisibility()", false);
    zoo.revoke("reader", &key);
}

fn second_page(zoo: &Zoo) {
    let browser = zoo.enter("/catalogue");
    browser.click("#next");
    browser.reads("#page", "Page 2");
    browser.until("animals.ariaBusy === 'false'");
}

/// The pager names the visible page until the next page arrives.
fn loading(zoo: &Zoo) {
    let browser = zoo.enter("/catalogue");
    browser.hold_answers("true");
    browser.click("#next");
    browser.reads("#list-status", "Loading");
    browser.is("$('#page').textContent", "Page 1");
    browser.until("getComputedStyle(animals).opacity < 1");
}

fn empty(zoo: &Zoo) {
    let browser = zoo.enter("/catalogue");
    browser.intercept("true", "return new Response('[]');");
    browser.click("#filter label:has([value=sold])");
    browser.reads("#empty", "There is no animal with the status sold");
}

/// The error is visible between filter and table, and covers nothing.
fn offline(zoo: &Zoo) {
    let browser = zoo.enter("/catalogue");
    browser.set_offline(true);
    browser.js("scrollTo(0, 1000); refresh.click(); $('#count').click()");
    browser.reads("#list-failure", "The service did not answer");
    browser.reads("#count-failure", "Not counted. The service did not answer");
    browser.is(
        "((above, box, below) => above.bottom <= box.top && box.bottom <= below.top && box.top >= 0)(
         ...['#filter', '#list-failure', '#animals'].map(part => $(part).getBoundingClientRect()))",
        true,
    );
}

fn bad_cursor(zoo: &Zoo) {
    let browser = zoo.enter("/catalogue?cursor=nonsense");
    browser.reads("#list-failure", "`cursor`: must be the unchanged cursor of a next link");
    browser.reads("#list-retry", "Start from the first page");
}

/// The widest animal, which is found by its id, and its row.
fn one(zoo: &Zoo) {
    let browser = zoo.enter("/catalogue");
    find(browser, "121");
    browser.reads("#found-text", "id 121, category -9223372036854775808, available");
    browser.click("#found-show");
    browser.until("document.activeElement.matches('#rows tr.new')");
}

/// The field keeps its place, and the message is below it.
fn missing(zoo: &Zoo) {
    let browser = zoo.enter("/catalogue");
    let place = |id: &str| browser.value(&format!("$('#{id}').getBoundingClientRect()"));
    let before = [place("find-id"), place("animals")];
    for (id, fault) in [
        ("seven", "Enter a whole number"),
        ("", "Enter a whole number"),
        ("9223372036854775808", "No animal has this id."),
        ("9999", "No animal has this id."),
    ] {
        find(browser, id);
        browser.reads("#find-fault", fault);
        browser.focus_is_on("find-id");
        browser.is("$('#find-id').ariaInvalid", "true");
    }
    assert_eq!([place("find-id"), place("animals")], before);
    let (field, fault) = (&before[0], place("find-fault"));
    assert_eq!(fault["x"], field["x"]);
    assert!(fault["top"].as_f64() >= field["bottom"].as_f64());
}

/// Enters an id into the form that finds an animal.
pub(crate) fn find(browser: &Browser, id: &str) {
    browser.fill("#find-id", id);
    browser.press(thirtyfour::Key::Enter);
}

/// Fills the form in.
#[track_caller]
pub(crate) fn fill_in(browser: &Browser, name: &str, category: &str) {
    browser.fill("#name", name);
    browser.fill("#categoryId", category);
}

/// Adds an animal with the form.
#[track_caller]
pub(crate) fn add(browser: &Browser, name: &str, category: &str) {
    fill_in(browser, name, category);
    browser.click("#add-send");
}

/// Each error in the refusal of the service appears at its field.
fn refused(zoo: &Zoo) {
    let browser = zoo.enter("/catalogue");
    add(browser, "   ", "9223372036854775808");
    browser.reads("#name-error", "Must not be white space alone.");
    browser.reads("#categoryId-error", "Must be a whole number from -9223372036854775808 to");
    browser.reads("#add-failure", "2 fields need a change");
    browser.focus_is_on("name");
    let marks = "[...add.querySelectorAll('input, select')].map(field => field.ariaInvalid)";
    browser.is(marks, json!(["true", "true", "false"]));
    // A screen reader reads the error with the field.
    browser.is("['name', 'categoryId'].every(id => $(`#${id}`).getAttribute('aria-describedby').split(' ').includes(`${id}-error`))", true);
}

/// The service failed, so it is not known whether the animal was added.
fn unknown(zoo: &Zoo) {
    let browser = zoo.enter("/catalogue");
    browser.answer_instead("POST", 503, "unavailable");
    add(browser, "Rex", "7");
    browser.reads("#add-failure", "It is not known");
}

fn added(zoo: &Zoo) {
    let browser = zoo.enter("/catalogue");
    add(browser, &wide(), "-9223372036854775808");
    browser.reads("#added", "Added WWW");
    browser.until("animals.ariaBusy === 'false'");
}

/// Each heading is larger than the next level. The link to the OpenAPI document is at the top.
pub(crate) fn reference(zoo: &Zoo) {
    let browser = zoo.visit("/docs", "");
    browser.see(LIST);
    browser.see(".lead a[href='openapi.json']");
    let size = "e => parseFloat(getComputedStyle(e).fontSize)";
    browser.is(&format!("['h1', '#start-title', '#listPets-title', '#listPets h4'].map($).map({size}).every((size, i, all) => !i || size * 1.15 < all[i - 1])"), true);
}

/// A section at the top of the window.
fn at(zoo: &Zoo, section: &str) {
    reference(zoo);
    zoo.browser.js(&format!("location.hash = '{section}'"));
    zoo.browser.until(&format!("Math.abs($('#{section}').getBoundingClientRect().top) < 100"));
    zoo.browser.until(&format!("$('nav a[href=\"#{section}\"]').ariaCurrent === 'true'"));
}

fn answer(zoo: &Zoo) {
    reference(zoo);
    authorize(&zoo.browser, KEY);
    execute(&zoo.browser, LIST, 200);
    zoo.browser.js("$('#listPets').scrollIntoView()");
}

/// Everything unfolded, with a key and with responses.
fn opened(zoo: &Zoo) {
    reference(zoo);
    authorize(&zoo.browser, KEY);
    for operation in [LIST, docs::CREATE] {
        execute(&zoo.browser, operation, if operation == LIST { 200 } else { 201 });
    }
    unfold(&zoo.browser);
    // Code does not wrap. A long line scrolls.
    zoo.browser.is("$$('.code').every(e => getComputedStyle(e).whiteSpace === 'pre')", true);
    let is_wider = format!("(e => e.scrollWidth > e.clientWidth)($('{} .sample'))", docs::CREATE);
    zoo.browser.is(&is_wider, true);
    zoo.browser
        .is("$$('.code').every(code => code.closest('.panel').querySelector('.copy'))", true);
}
