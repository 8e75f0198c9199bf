//! The page on a narrow screen, on paper and without JavaScript.

use petstore_testing::needs;
use serde_json::json;
use thirtyfour::Key;

use super::{
    adding::fill_in,
    conditions::{hold_answers, let_through, set_offline},
};
use crate::support::{
    browser::{Browser, Look, PHONE},
    catalogue,
    zoo::Zoo,
};

/// What is shown and reaches over an edge of its card.
const OVER_THE_EDGE: &str = "
    return [...document.querySelectorAll('.card *')].filter(element => {
        if (!element.checkVisibility({ opacityProperty: true }) || element.closest('.unseen, .segments input, thead, svg, .code')) return false;
        const box = element.getBoundingClientRect(), card = element.closest('.card').getBoundingClientRect();
        return box.right > card.right + 0.5 || box.left < card.left - 0.5 || element.scrollWidth > element.clientWidth + 1
            && getComputedStyle(element).display !== 'inline' && !element.matches('input, textarea, select');
    }).map(element => `${element.tagName} ${element.id}: ${element.textContent.trim().slice(0, 40)}`);
";

#[track_caller]
fn stays_in_its_card(browser: &Browser, state: &str) {
    for width in [320, 390, 700] {
        browser.look(Look { width, ..PHONE });
        assert_eq!(browser.js(OVER_THE_EDGE), json!([]), "{state}, {width}");
    }
    browser.look(Look { width: 320, ..PHONE });
}

#[needs(chromium)]
#[test]
fn nothing_leaves_its_card_on_a_narrow_screen() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let wide = json!({ "name": "W".repeat(255), "categoryId": i64::MIN, "status": "available" });
    catalogue::add(&zoo.client(), &wide);
    zoo.browser.go(&zoo.page("/catalogue"));
    zoo.browser.fill("#key", "wrong-key-wrong-key");
    zoo.browser.press(Key::Enter);
    zoo.browser.see("#key-error");
    stays_in_its_card(&zoo.browser, "the form for the key");

    let browser = zoo.enter("/catalogue");
    browser.click("#count");
    browser.reads("#count-status", "1 animal in all");
    stays_in_its_card(browser, "the list");
    browser.click("#more");
    stays_in_its_card(browser, "what is folded");
    browser.fill("#find-id", "1");
    browser.press(Key::Enter);
    browser.see("#found");
    stays_in_its_card(browser, "an animal that was found");
    browser.click("#found-close");
    fill_in(browser, &"W".repeat(255), "-9223372036854775808");
    browser.click("#add-send");
    browser.see("#added-show");
    stays_in_its_card(browser, "an animal that was added");
    fill_in(browser, "", &"9".repeat(30));
    browser.click("#add-send");
    browser.see("#add-failure");
    stays_in_its_card(browser, "an animal that was refused");
    set_offline(browser, true);
    for button in ["#refresh", "#count"] {
        browser.click(button);
    }
    browser.see("#list-failure");
    browser.see("#count-failure");
    stays_in_its_card(browser, "an outage");
    set_offline(browser, false);
    browser.go(&zoo.page("/catalogue?cursor=nonsense"));
    browser.reads("#list-retry", "Start from the first page");
    stays_in_its_card(browser, "a cursor that is refused");
}

#[needs(chromium)]
#[test]
fn paper_has_the_animals_and_the_counts_and_no_controls() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(5);
    let browser = zoo.enter("/catalogue");
    browser.click("#count");
    browser.reads("#count-status", "5 animals in all");
    browser.devtools("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    let shown =
        "[...document.querySelectorAll('button:not(.open), input, select, nav, form, .adder')]
        .filter(e => e.checkVisibility()).map(e => e.id)";
    assert_eq!(browser.value(shown), json!([]));
    browser.reads("#rows", "pet 5");
    browser.reads("#bars", "No status");
    // Black on white, in each row.
    let colors = "[...rows.querySelectorAll('th, .pill')].every(e =>
        getComputedStyle(e).color === 'rgb(0, 0, 0)')";
    assert_eq!(browser.value(colors), true);
    assert_eq!(
        browser.value("getComputedStyle(document.body).backgroundColor"),
        "rgb(255, 255, 255)"
    );
    browser.devtools("Emulation.setEmulatedMedia", json!({ "media": "" }));
}

#[needs(chromium)]
#[test]
fn without_javascript_the_page_leads_to_what_needs_none() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = &zoo.browser;
    browser.devtools("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
    browser.go(&zoo.page("/catalogue"));
    let notice = browser.text("noscript .notice");
    browser.click("noscript a");
    let document = browser.text("body");
    let url = browser.url();
    browser.devtools("Emulation.setScriptExecutionDisabled", json!({ "value": false }));
    assert!(notice.contains("curl") && notice.contains("/v1/pets"), "{notice}");
    assert_eq!(url, zoo.page("/openapi.json"));
    assert!(document.contains("listPets"), "{document}");
}

#[needs(chromium)]
#[test]
fn the_focus_is_not_lost_while_a_button_is_busy() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = zoo.enter("/catalogue");
    hold_answers(browser, "method === 'POST'");
    fill_in(browser, "Rex", "1");
    browser.click("#add-send");
    browser.until("window.held === 1");
    assert_eq!(browser.value("document.activeElement.id"), "add-send");
    assert_eq!(browser.text("#add-send"), "Adding…");
}

#[needs(chromium)]
#[test]
fn what_is_pressed_answers_where_it_was_pressed() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(45);
    let browser = zoo.enter("/catalogue");
    for (button, held) in [("next", "cursor"), ("refresh", "limit")] {
        hold_answers(browser, &format!("url.includes('{held}')"));
        browser.click(&format!("#{button}"));
        browser.until("window.held === 1");
        let spins = format!("document.getElementById('{button}').classList.contains('busy')");
        assert_eq!(browser.value(&spins), true, "{button}");
        browser.until("getComputedStyle(animals).opacity < 1");
        // The page has not been moved away from the button.
        let seen = format!("document.getElementById('{button}').getBoundingClientRect()");
        assert_eq!(
            browser.value(&format!("(box => box.top >= 0 && box.bottom <= innerHeight)({seen})")),
            true
        );
        let_through(browser);
        browser.until(&format!("!{spins} && getComputedStyle(animals).opacity === '1'"));
    }
    // A failure is on the screen wherever the reader is in the list.
    set_offline(browser, true);
    browser.js("scrollTo(0, 0); refresh.click()");
    browser.see("#list-failure");
    let seen = "list_failure => list_failure.bottom <= innerHeight";
    browser.until(&format!(
        "({seen})(document.getElementById('list-failure').getBoundingClientRect())"
    ));
    set_offline(browser, false);
}

#[needs(chromium)]
#[test]
fn a_row_opens_its_animal_and_closing_leads_back_to_it() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    zoo.stock(3);
    let browser = zoo.enter("/catalogue");
    // Wherever it is pressed.
    browser.click_again("#rows tr:nth-child(2) td:last-child", 1);
    browser.reads("#found-title", "pet 2");
    browser.reads("#found .code", "\"categoryId\": 1");
    assert_eq!(browser.value("document.activeElement.id"), "found-title");
    assert_eq!(browser.value("document.getElementById('found-show').hidden"), true);
    browser.press(Key::Escape);
    browser.until("document.getElementById('found').hidden");
    browser.js("rows.querySelectorAll('button')[2].focus()");
    browser.press(Key::Enter);
    browser.reads("#found-title", "pet 3");
    browser.click("#found-close");
    assert_eq!(
        browser.value("document.activeElement === rows.querySelectorAll('button')[2]"),
        true
    );
}
