//! Properties of both pages: their frame, their cost, and their use with the keyboard.

use petstore_testing::needs;
use serde_json::{Value, json};
use thirtyfour::Key;

use crate::{
    docs,
    states::{self, list},
    support::{
        browser::{Browser, DESK, Look, PHONE},
        zoo::Zoo,
    },
};

/// The layout shifts since the page was opened, with their elements.
const MOVED: &str = "
    return new Promise(done => {
        const observer = new PerformanceObserver(list => done(list.getEntries()));
        observer.observe({ type: 'layout-shift', buffered: true });
        setTimeout(() => done([]), 500);
    }).then(shifts => shifts.map(shift => [shift.value, ...shift.sources.map(({ node }) => `${node?.tagName} ${node?.id}`)]));
";

#[needs(chromium)]
#[test]
fn nothing_moves_while_a_page_loads_and_both_pages_have_their_header_in_one_place() {
    let zoo = states::zoo();
    zoo.enter("/catalogue");
    for look in [Look { width: 320, ..PHONE }, PHONE, DESK, Look { width: 1920, ..DESK }] {
        zoo.browser.look(look);
        let places = [("/catalogue", "#animals"), ("/docs", docs::LIST)].map(|(page, shown)| {
            zoo.browser.go(&zoo.page(page));
            zoo.browser.see(shown);
            let moved = zoo.browser.js(MOVED);
            let shifts = moved.as_array().unwrap().iter();
            let sum = shifts.map(|shift| shift[0].as_f64().unwrap()).sum::<f64>();
            assert!(sum < 0.05, "{look:?}: {moved}");
            zoo.browser.reads("header", "staging");
            zoo.browser
                .value("$$('header, header a, header svg').map(e => e.getBoundingClientRect())")
        });
        assert_eq!(places[0], places[1], "{look:?}");
    }
}

#[needs(chromium)]
#[test]
fn on_paper_there_is_the_content_of_a_page_and_no_control() {
    let zoo = Zoo::with(5);
    let browser = zoo.enter("/catalogue");
    browser.click("#count");
    browser.reads("#count-status", "5 animals in all");
    let media =
        |media: &str| browser.devtools("Emulation.setEmulatedMedia", json!({ "media": media }));
    let controls = "$$('button:not(.open), input, select, textarea, .adder')";
    let shown = format!("{controls}.some(e => e.checkVisibility())");
    media("print");
    browser.is(&shown, false);
    browser.reads("#rows", "pet 5");
    browser.reads("#bars", "No status");
    // Every row is black on white.
    let color = "getComputedStyle(e).color === 'rgb(0, 0, 0)'";
    browser.is(&format!("$$('#rows th, #rows .pill').every(e => {color})"), true);
    browser.is("getComputedStyle(document.body).backgroundColor", "rgb(255, 255, 255)");
    media("");

    browser.go(&zoo.page("/docs"));
    browser.see(docs::LIST);
    media("print");
    browser.is(&shown, false);
    // Everything is unfolded.
    for operation in [docs::LIST, docs::CREATE] {
        browser.reads(&format!("{operation} details.error"), "\"code\"");
        browser.reads(&format!("{operation} .sample"), "curl");
    }
    media("");
}

/// A load sends one request for the page and then only the requests for its data. So it takes two round trips.
#[needs(chromium)]
#[test]
fn a_load_sends_one_request_for_the_page_and_the_requests_for_its_data() {
    let zoo = states::zoo();
    zoo.enter("/catalogue");
    for (page, shown, data) in [
        ("/catalogue", "#rows tr", &["/v1/pets?limit=20"][..]),
        ("/docs", docs::LIST, &["/openapi.json", "/v1/pets?limit=1"]),
    ] {
        for load in ["cold", "warm"] {
            zoo.browser.requests();
            zoo.browser.go(&zoo.page(page));
            zoo.browser.see(shown);
            zoo.browser.until("$('#key-state')?.textContent !== 'Checking the key of this tab…'");
            let requests = zoo.browser.requests().into_iter();
            let asked = requests.filter(|request| request.went_out());
            let mut asked = asked.map(|request| request.url).collect::<Vec<_>>();
            let mut expected =
                data.iter().chain([&page]).map(|path| zoo.page(path)).collect::<Vec<_>>();
            asked.sort();
            expected.sort();
            assert_eq!(asked, expected, "{page}, {load}");
            let bytes =
                zoo.browser.value("performance.getEntriesByType('navigation')[0].transferSize");
            let bytes = bytes.as_u64().unwrap();
            assert!(bytes < if load == "warm" { 1_000 } else { 60_000 }, "{page}, {load}: {bytes}");
        }
    }
}

/// The name of the focused element, and whether its focus ring is visible. The ring of an invisible control is around
/// the next element.
const FOCUS: &str = "
    const element = document.activeElement, ring = style =>
        (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== 'none';
    const seen = [element, element.nextElementSibling].some(e => e && ring(getComputedStyle(e)));
    const box = element.getBoundingClientRect();
    return [element.id || element.textContent.trim(), seen && box.width > 0 && box.top >= 0 && box.bottom <= innerHeight];
";

/// Returns the names of the elements that Tab reaches, in order.
fn walk(browser: &Browser) -> Vec<String> {
    browser.focus_nothing();
    let mut names = Vec::new();
    for _ in 0..200 {
        browser.press(Key::Tab);
        if browser.value("document.activeElement === document.body") == true {
            return names;
        }
        let focus = browser.js(FOCUS);
        let [Value::String(name), Value::Bool(seen)] = &focus.as_array().unwrap()[..] else {
            panic!("{focus}")
        };
        assert!(seen, "the focus on {name} cannot be seen");
        if names.first() == Some(name) && names.len() > 3 {
            return names;
        }
        names.push(name.clone());
    }
    panic!("Tab never leaves the page: {names:?}");
}

/// Asserts that `names` contains the names of `expected` in this order.
#[track_caller]
fn holds_in_order(names: &[String], expected: &str) {
    let mut rest = names.iter();
    for wanted in expected.split(", ") {
        assert!(rest.any(|name| name == wanted), "Tab skips {wanted}: {names:?}");
    }
}

#[needs(chromium)]
#[test]
fn tab_reaches_every_control_in_order_and_the_keyboard_is_enough() {
    let zoo = Zoo::with(25);
    let browser = zoo.visit("/catalogue", "");
    browser.see("#key");
    let entrance = "Skip to the content, Catalogue, Reference, key, key-show, key-send, reference";
    holds_in_order(&walk(browser), entrance);
    let browser = zoo.visit("/docs", "");
    browser.see(docs::LIST);
    let names = walk(browser);
    assert!(names.len() > 8 && names[0].starts_with("Skip to the"), "{names:?}");

    list(&zoo);
    let expected = "Skip to the content, Catalogue, Reference, forget, find-id, find-send, limit, copy, refresh, \
        Skip to the end of the list, First, Previous, Next, pet 1, pet 20, first, previous, next, name, categoryId, \
        status, add-send, count";
    holds_in_order(&walk(browser), expected);
    // One key skips all rows.
    browser.js("$('[data-jump=pager]').focus()");
    browser.press(Key::Enter);
    browser.press(Key::Tab);
    browser.focus_is_on("first");

    browser.js("filter.querySelector('input').focus()");
    browser.press(Key::Right);
    browser.press(Key::Right);
    browser.reads("#list-status", "7 animals shown");
    browser.js("$('#name').focus()");
    browser.press("R");
    browser.press(Key::Tab);
    browser.press("7");
    browser.press(Key::Enter);
    browser.reads("#added", "Added R (id 26, category 7).");
    browser.focus_is_on("name");
}
