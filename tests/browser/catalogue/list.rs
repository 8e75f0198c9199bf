//! The list: pages, filter, and what its cells show.

use std::fmt::Write as _;

use petstore_testing::needs;
use serde_json::{Value, json};

use super::conditions::settle;
use crate::support::{browser::Browser, catalogue, command::petstore, store::Store, zoo::Zoo};

pub(super) const IDS: &str = "[...rows.rows].map(row => row.cells[0].textContent)";

/// Waits until the list shows exactly the animals with these ids.
#[track_caller]
pub(super) fn shows(browser: &Browser, ids: impl Iterator<Item = usize>) {
    let ids: Vec<_> = ids.map(|id| id.to_string()).collect();
    let (shown, expected) = (format!("JSON.stringify({IDS})"), json!(ids).to_string());
    browser.until(&format!("animals.ariaBusy === 'false' && {shown} === {}", json!(expected)));
}

/// Returns whether a button of the pager can be used.
fn is_on(browser: &Browser, button: &str) -> bool {
    browser.value(&format!("document.getElementById('{button}').ariaDisabled")) == "false"
}

#[needs(chromium)]
#[test]
fn pages_are_walked_along_the_links_of_the_service() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(45);
    let browser = zoo.enter("/catalogue");
    shows(browser, 1..=20);
    browser.reads("#list-status", "20 animals shown, page 1");
    assert!(!is_on(browser, "first") && !is_on(browser, "previous") && is_on(browser, "next"));

    browser.requests();
    let link = zoo.client().get("/v1/pets?limit=20").send().is(200).link("next").unwrap();
    browser.click("#next");
    shows(browser, 21..=40);
    let requests = browser.requests();
    assert!(requests.iter().any(|request| request.url == zoo.page(&link)), "{link} {requests:?}");

    browser.click("#next");
    shows(browser, 41..=45);
    browser.reads("#list-status", "5 animals shown, page 3");
    assert!(!is_on(browser, "next"));
    browser.click("#previous");
    shows(browser, 21..=40);
    browser.click("#first");
    shows(browser, 1..=20);
}

#[needs(chromium)]
#[test]
fn reload_and_the_way_back_of_the_browser_keep_the_place() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(45);
    let browser = zoo.enter("/catalogue?limit=10");
    shows(browser, 1..=10);
    browser.click("#next");
    shows(browser, 11..=20);
    browser.reload();
    shows(browser, 11..=20);
    browser.reads("#page", "Page 2");
    browser.click("#previous");
    shows(browser, 1..=10);
    browser.back();
    shows(browser, 11..=20);
    browser.back();
    shows(browser, 1..=10);

    browser.click("#next");
    shows(browser, 11..=20);
    // The address alone names the place too, as in a bookmark.
    browser.js("history.replaceState(null, '', location.href)");
    browser.reload();
    shows(browser, 11..=20);
    browser.reads("#page", "A later page");
    assert!(is_on(browser, "first") && !is_on(browser, "previous"));
}

#[needs(chromium)]
#[test]
fn the_filter_shows_one_status_and_stays_in_the_address() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(45);
    let browser = zoo.enter("/catalogue");
    browser.click("#filter label:has([value=pending])");
    shows(browser, (1..=45).filter(|number| number % 4 == 1));
    assert!(browser.url().ends_with("?limit=20&status=pending"), "{}", browser.url());
    let kinds = browser.value("[...rows.rows].map(row => row.cells[3].textContent)");
    assert!(kinds.as_array().unwrap().iter().all(|kind| kind == "Pending"), "{kinds}");

    browser.js("limit.value = '10'; limit.dispatchEvent(new Event('change', { bubbles: true }))");
    browser.click("#next");
    shows(browser, [41, 45].into_iter());
    browser.reload();
    shows(browser, [41, 45].into_iter());
    assert_eq!(browser.value("filter.elements.status.value"), "pending");
    browser.click("#filter label:has([value=''])");
    shows(browser, 1..=10);
}

#[needs(chromium)]
#[test]
fn an_empty_list_says_so() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = zoo.enter("/catalogue");
    browser.reads("#empty", "There is no animal yet");
    zoo.stock(1);
    browser.click("#filter label:has([value=available])");
    browser.reads("#empty", "There is no animal with the status available");
    browser.click("#show-all");
    shows(browser, 1..=1);
    // The button is gone; the focus is not.
    assert_eq!(browser.value("document.activeElement.id"), "list-title");
}

#[needs(chromium)]
#[test]
fn names_are_text_and_numbers_keep_every_digit() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let names = [
        "<img src=x onerror=alert(1)>",
        "كلب \u{202e}لطيف",
        "🐕‍🦺  two  spaces",
        "\"\\9007199254740993",
    ];
    let categories = [i64::MAX, i64::MIN, 9_007_199_254_740_993, -1];
    for (name, category) in names.iter().zip(categories) {
        catalogue::add(&zoo.client(), &json!({"name": name, "categoryId": category}));
    }
    let long = "x".repeat(255);
    catalogue::add(&zoo.client(), &catalogue::pet(&long));
    let browser = zoo.enter("/catalogue");
    shows(browser, 1..=5);
    let shown = browser.value("[...rows.rows].map(row => row.cells[1].textContent)");
    assert_eq!(shown, json!([names[0], names[1], names[2], names[3], long]));
    let shown = browser.value("[...rows.rows].map(row => row.cells[2].textContent)");
    let categories: Vec<Value> = categories.iter().map(|id| json!(id.to_string())).collect();
    assert_eq!(shown.as_array().unwrap()[..4], categories);
    assert_eq!(browser.value("rows.querySelectorAll('img').length"), 0);
}

#[needs(chromium)]
#[test]
fn a_cursor_that_the_service_refuses_is_explained() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(1);
    let browser = zoo.enter("/catalogue?cursor=nonsense");
    browser.reads("#list-failure", "`cursor`: must be one that a next link has given");
    browser.click("#list-retry");
    shows(browser, 1..=1);
    assert_eq!(browser.value("document.getElementById('list-failure').hidden"), true);
}

#[needs(chromium)]
#[test]
fn animals_without_a_status_are_looked_for_until_a_page_is_full() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(250);
    let bare = |numbers: std::ops::Range<usize>| numbers.map(|number| 4 * number + 3);
    let browser = zoo.enter("/catalogue?limit=50");
    browser.requests();
    browser.click("#filter label:has([value=none])");
    shows(browser, bare(0..50));
    // The 51st was met, or there would be no next page.
    browser.reads(
        "#list-status",
        "50 animals shown, page 1. Looked through 202 animals, up to id 202.",
    );
    assert!(browser.url().ends_with("?limit=50&status=none"), "{}", browser.url());
    let requests = browser.requests();
    let asked = requests.iter().filter(|request| request.url.contains("/v1/"));
    assert!(asked.clone().all(|request| !request.url.contains("none")), "{requests:?}");
    assert_eq!(asked.count(), 3);

    browser.click("#next");
    shows(browser, bare(50..62));
    browser.reads(
        "#list-status",
        "12 animals shown, page 2. Looked through 50 animals, up to id 250.",
    );
    assert!(!is_on(browser, "next"));
    browser.reload();
    shows(browser, bare(50..62));
    browser.click("#previous");
    shows(browser, bare(0..50));
    browser.click("#filter label:has([value=sold])");
    shows(browser, (1..=199).filter(|number| number % 4 == 2));
}

#[needs(chromium)]
#[test]
fn the_search_for_animals_without_a_status_has_a_bound_says_so_and_goes_on() {
    let store = Store::sqlite();
    let mut animals = String::new();
    for number in 1..=5101 {
        let status = if number == 5101 { "" } else { r#","status":"sold""# };
        writeln!(animals, r#"{{"id":{number},"name":"pet","categoryId":1{status}}}"#).unwrap();
    }
    let file = store.folder().join("animals.ndjson");
    std::fs::write(&file, animals).unwrap();
    petstore(&["import", "--create", file.to_str().unwrap(), "--store", &store.url])
        .finish()
        .succeeds();
    let Some(zoo) = Zoo::on_or_skip(store) else { return };
    let browser = zoo.enter("/catalogue");
    browser.click("#filter label:has([value=none])");
    browser.reads("#empty", "No animal without a status so far. “Next” looks further.");
    browser.reads("#list-status", "Looked through 5,000 animals, up to id 5000.");
    browser.click("#next");
    shows(browser, 5101..=5101);
    browser.reads(
        "#list-status",
        "1 animal shown, page 2. Looked through 101 animals, up to id 5101.",
    );
}

#[needs(chromium)]
#[test]
fn a_row_with_the_focus_keeps_it_when_the_page_is_read_again() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(3);
    let browser = zoo.enter("/catalogue");
    browser.js("rows.rows[1].focus(); window.old = rows.rows[1];
        document.getElementById('refresh').click()");
    browser.until("!window.old.isConnected");
    assert_eq!(browser.value("document.activeElement === rows.rows[1]"), true);
}

#[needs(chromium)]
#[test]
fn an_answer_that_a_later_choice_has_overtaken_is_dropped() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(8);
    let browser = zoo.enter("/catalogue");
    shows(browser, 1..=8);
    // The answer about the sold ones arrives whatever happens, but only when it is let through.
    browser.js(
        "const real = window.fetch; window.late = new Promise(go => window.let_through = go);
         window.fetch = async (url, options) => {
             if (!String(url).includes('sold')) return real(url, options);
             const answer = await real(url, { headers: options.headers });
             const text = await answer.text();
             await window.late;
             window.is_through = true;
             return new Response(text, { status: 200 });
         };",
    );
    browser.click("#filter label:has([value=sold])");
    browser.click("#filter label:has([value=pending])");
    shows(browser, [1, 5].into_iter());
    browser.js("window.let_through()");
    browser.until("window.is_through");
    // The page acts on it before the next task.
    settle(browser);
    shows(browser, [1, 5].into_iter());
}
