//! The shown animals, as JSON for elsewhere.

use petstore_testing::needs;
use serde_json::json;
use thirtyfour::Key;

use super::list::shows;
use crate::support::{browser::Browser, catalogue, zoo::Zoo};

/// From now on what is copied is `window.copied`.
fn watch_clipboard(browser: &Browser) {
    browser.js("Object.defineProperty(navigator, 'clipboard', { configurable: true, value: {
             writeText: async text => { window.copied = text } } })");
}

/// Three animals, with what JavaScript would not get right.
fn odd_animals(zoo: &Zoo) {
    for pet in [
        json!({"name": "{\"Rex\"}, \\ \u{1f415} ", "categoryId": i64::MAX, "status": "sold"}),
        json!({"name": "[1.0]", "categoryId": 9_007_199_254_740_993_i64}),
        json!({"name": "Mimi", "categoryId": i64::MIN}),
    ] {
        catalogue::add(&zoo.client(), &pet);
    }
}

#[needs(chromium)]
#[test]
fn the_page_is_copied_byte_for_byte() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    odd_animals(&zoo);
    let browser = zoo.enter("/catalogue");
    watch_clipboard(browser);
    browser.click("#copy");
    browser.reads("#copy", "Copied");
    assert_eq!(browser.value("copy.ariaLive"), "polite");
    let page = zoo.client().get("/v1/pets?limit=20").send().is(200).text().to_owned();
    assert_eq!(browser.value("window.copied"), page);

    // Of a page that is filtered here, what is shown.
    browser.click("#filter label:has([value=none])");
    shows(browser, [2, 3].into_iter());
    browser.click("#copy");
    let start = page.find(r#"{"id":2,"#).unwrap();
    browser.until(&format!("window.copied === {}", json!(format!("[{}", &page[start..]))));
}

#[needs(chromium)]
#[test]
fn one_animal_is_copied_byte_for_byte() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    odd_animals(&zoo);
    let browser = zoo.enter("/catalogue");
    watch_clipboard(browser);
    for id in 1..=3 {
        browser.fill("#find-id", &id.to_string());
        browser.press(Key::Enter);
        browser.reads("#found-text", &format!("id {id}"));
        let one = zoo.client().get(&format!("/v1/pets/{id}")).send().is(200).text().to_owned();
        let from_list = format!("rows.rows[{}].querySelector('button').click()", id - 1);
        for again in ["", &from_list] {
            browser.js(&format!("window.copied = ''; {again}"));
            browser.click("#found .copy");
            browser.until(&format!("window.copied === {}", json!(one)));
        }
    }
}

#[needs(chromium)]
#[test]
fn where_there_is_no_clipboard_the_text_is_copied_all_the_same() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(1);
    let browser = zoo.enter("/catalogue");
    browser.js("Object.defineProperty(navigator, 'clipboard', { value: undefined });
         addEventListener('copy', () => window.copied = document.activeElement.value);");
    browser.click("#copy");
    browser.reads("#copy", "Copied");
    let page = zoo.client().get("/v1/pets?limit=20").send().is(200).text().to_owned();
    assert_eq!(browser.value("window.copied"), page);
    assert_eq!(browser.value("document.activeElement.id"), "copy");
}
