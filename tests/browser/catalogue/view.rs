//! The page in use: its buttons, copies of its data, and its layout on a phone.

use petstore_testing::needs;
use serde_json::json;
use thirtyfour::Key;

use super::list::shows;
use crate::{
    states::{self, find},
    support::{
        browser::{Browser, PHONE},
        catalogue,
        zoo::Zoo,
    },
};

#[needs(chromium)]
#[test]
fn each_button_shows_its_result_in_place() {
    let zoo = Zoo::with(45);
    let browser = zoo.enter("/catalogue");
    browser.hold_answers("url.includes('cursor')");
    browser.click("#next");
    browser.until("window.held === 1");
    browser.is("$('#next').classList.contains('busy')", true);
    // The page has not scrolled away from the button.
    let place = "$('#next').getBoundingClientRect()";
    browser.is(&format!("(box => box.top >= 0 && box.bottom <= innerHeight)({place})"), true);
    browser.let_through();
    browser.until("!$('.busy') && getComputedStyle(animals).opacity === '1'");
    // A click anywhere in a row opens its animal. Closing the animal returns the focus to the row.
    shows(browser, 21..=40);
    browser.js("scrollTo(0, 0)");
    browser.click_again("#rows tr:nth-child(2) td:last-child", 1);
    browser.reads("#found-title", "pet 22");
    browser.reads("#found .code", "\"categoryId\": 1");
    browser.focus_is_on("found-title");
    browser.is("$('#found-show').hidden", true);
    browser.press(Key::Escape);
    browser.until("found.hidden");
    let third = "rows.querySelectorAll('button')[2]";
    browser.js(&format!("{third}.focus()"));
    browser.press(Key::Enter);
    browser.reads("#found-title", "pet 23");
    browser.click("#found-close");
    browser.is(&format!("document.activeElement === {third}"), true);
    // The table head stays visible above its rows.
    browser.js("rows.rows[15].scrollIntoView({ block: 'center' })");
    browser.is("Math.round($('thead th').getBoundingClientRect().top)", 0);
    let over = "(box => document.elementFromPoint(box.x + 20, box.y + 10).closest('th')?.scope)";
    browser.is(&format!("{over}($('thead th').getBoundingClientRect())"), "col");
}

#[needs(chromium)]
#[test]
fn on_a_phone_nothing_covers_the_list_and_the_form_is_one_press_away() {
    let zoo = states::zoo();
    zoo.browser.look(PHONE);
    let browser = zoo.enter("/catalogue");
    let top = browser.value("$('#rows tr').getBoundingClientRect().top");
    assert!(top.as_f64() < Some(200.0), "{top}");
    let covered = "$$('.pill, #next').filter(e => {
        const { x, y, width, height } = e.getBoundingClientRect(), [left, top] = [x + width / 2, y + height / 2];
        return top > 0 && top < innerHeight && !e.contains(document.elementFromPoint(left, top))
            && !e.closest('tr')?.contains(document.elementFromPoint(left, top));
    }).length";
    browser.js("scrollTo(0, 0)");
    while browser.value("scrollY + innerHeight < document.documentElement.scrollHeight - 1") == true
    {
        browser.is(covered, 0);
        browser.js("scrollBy(0, 200)");
    }
    browser.js("scrollTo(0, 0)");
    // Controls that are needed less often are folded.
    for part in ["find-id", "limit", "refresh", "copy"] {
        browser.is(&format!("$('#{part}').checkVisibility()"), false);
    }
    browser.click("#more");
    browser.see("#find-id");
    browser.is("more.ariaExpanded", "true");
    browser.click("#jump");
    browser.focus_is_on("name");
}

/// Adds three animals with values that JavaScript would change.
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
fn a_page_and_an_animal_are_copied_byte_for_byte() {
    let zoo = Zoo::open();
    odd_animals(&zoo);
    let browser = zoo.enter("/catalogue");
    browser.watch_clipboard();
    browser.click("#copy");
    browser.reads("#copy", "Copied");
    browser.is("copy.ariaLive", "polite");
    let page = zoo.client().get("/v1/pets?limit=20").send().is(200).text().to_owned();
    browser.is("window.copied", page.as_str());
    // A page that is filtered in the browser is copied as shown.
    browser.click("#filter label:has([value=none])");
    shows(browser, [2, 3].into_iter());
    browser.click("#copy");
    let start = page.find(r#"{"id":2,"#).unwrap();
    copied(browser, &format!("[{}", &page[start..]));

    browser.click("#filter label:has([value=''])");
    shows(browser, 1..=3);
    for id in 1..=3 {
        find(browser, &id.to_string());
        browser.reads("#found-text", &format!("id {id}"));
        let one = zoo.client().get(&format!("/v1/pets/{id}")).send().is(200).text().to_owned();
        let from_list = format!("rows.rows[{}].querySelector('button').click()", id - 1);
        for again in ["", &from_list] {
            browser.js(&format!("window.copied = ''; {again}"));
            browser.click("#found .copy");
            copied(browser, &one);
        }
    }
    // The text is copied without the clipboard API too.
    browser.js("Object.defineProperty(navigator, 'clipboard', { value: undefined });
         addEventListener('copy', () => window.copied = document.activeElement.value);");
    browser.click("#copy");
    copied(browser, &page);
    browser.focus_is_on("copy");
}

/// Waits until exactly this text has been copied.
#[track_caller]
fn copied(browser: &Browser, text: &str) {
    browser.until(&format!("window.copied === {}", json!(text)));
}
