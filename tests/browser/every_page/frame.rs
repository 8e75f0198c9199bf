//! What is the same on both pages, where things are, and what a load costs.

use petstore_testing::needs;
use serde_json::{Value, json};

use crate::{
    docs,
    states::{self, zoo_or_skip},
    support::{
        browser::{Browser, DESK, Look, PHONE},
        zoo::Zoo,
    },
};

/// Opens both pages with a key, one after the other, and returns what `look` sees on each.
fn on_both(zoo: &Zoo, look: impl Fn(&Browser) -> Value) -> [Value; 2] {
    zoo.browser.go(&zoo.page("/catalogue"));
    zoo.browser.see("#animals");
    let catalogue = look(&zoo.browser);
    zoo.browser.go(&zoo.page("/docs"));
    zoo.browser.see(docs::LIST);
    [catalogue, look(&zoo.browser)]
}

/// Each part of the frame: what it reads, where it is, and how large.
const FRAME: &str = "
    const parts = [...document.querySelectorAll('header, header .bar > *, header a, header svg, footer .bar')];
    return parts.filter(part => part.checkVisibility()).map(part => {
        const { x, y, width, height } = part.getBoundingClientRect();
        return [part.tagName, part.innerText, x, part.closest('footer') ? 0 : y, width, height];
    });
";

#[needs(chromium)]
#[test]
fn nothing_of_the_frame_moves_from_page_to_page() {
    let Some(zoo) = zoo_or_skip() else { return };
    zoo.enter("/catalogue");
    for look in [Look { width: 320, ..PHONE }, PHONE, DESK, Look { width: 1920, ..DESK }] {
        zoo.browser.look(look);
        let [catalogue, docs] = on_both(&zoo, |browser| browser.js(FRAME));
        assert!(catalogue.as_array().unwrap().len() >= 7, "{catalogue}");
        assert_eq!(catalogue, docs, "{look:?}");
        assert!(catalogue.to_string().contains("staging"), "{catalogue}");
    }
    let title = |browser: &Browser| {
        browser.value("getComputedStyle(document.querySelector('h1')).font + document.querySelector('h1').getBoundingClientRect().y")
    };
    zoo.browser.look(DESK);
    let [catalogue, docs] = on_both(&zoo, title);
    assert_eq!(catalogue, docs);
}

#[needs(chromium)]
#[test]
fn on_a_phone_what_is_looked_for_is_at_the_top() {
    let Some(zoo) = zoo_or_skip() else { return };
    let top = |selector: &str| {
        let top = format!("document.querySelector('{selector}').getBoundingClientRect().top");
        zoo.browser.value(&top).as_f64().unwrap()
    };
    zoo.browser.look(PHONE);
    zoo.enter("/catalogue");
    assert!(top("#rows tr") < 200.0, "{}", top("#rows tr"));
    // What is needed less is folded, and one press away.
    for part in ["find-id", "limit", "refresh", "copy"] {
        let shown = format!("document.getElementById('{part}').checkVisibility()");
        assert_eq!(zoo.browser.value(&shown), false, "{part}");
    }
    zoo.browser.click("#more");
    zoo.browser.see("#find-id");
    assert_eq!(zoo.browser.value("more.ariaExpanded"), "true");
    // The form to add an animal is one press away.
    zoo.browser.click("#jump");
    assert_eq!(zoo.browser.value("document.activeElement.id"), "name");

    zoo.browser.go(&zoo.page("/docs"));
    zoo.browser.see(docs::LIST);
    assert!(top("h1") < 150.0, "{}", top("h1"));
    zoo.browser.click("#fold");
    zoo.browser.click("#contents a[href='#createPet']");
    zoo.browser.until("fold.ariaExpanded === 'false'");
    // Below what stays at the top.
    zoo.browser
        .until("createPet.getBoundingClientRect().top >= fold.getBoundingClientRect().bottom");
}

/// On a line with a latency, the time is the number of answers that wait for each other: of a page that the
/// browser has, that it is still the same, and then its data.
#[needs(chromium)]
#[test]
fn a_page_that_the_browser_has_costs_one_round_trip_and_its_data_another() {
    let Some(zoo) = zoo_or_skip() else { return };
    zoo.enter("/catalogue");
    for (page, shown, data) in [
        ("/catalogue", "#rows tr", &["/v1/pets?limit=20"][..]),
        ("/docs", docs::LIST, &["/openapi.json", "/v1/pets?limit=1"]),
    ] {
        for load in ["cold", "warm"] {
            zoo.browser.requests();
            zoo.browser.go(&zoo.page(page));
            zoo.browser.see(shown);
            zoo.browser.until("document.querySelector('#key-state')?.textContent !== 'Checking the key of this tab…'");
            let requests = zoo.browser.requests();
            let mut asked = requests
                .iter()
                .filter(|request| request.went_out())
                .map(|request| request.url.clone())
                .collect::<Vec<_>>();
            asked.sort();
            let mut expected =
                data.iter().chain([&page]).map(|path| zoo.page(path)).collect::<Vec<_>>();
            expected.sort();
            assert_eq!(asked, expected, "{page}, {load}");
            let bytes =
                zoo.browser.value("performance.getEntriesByType('navigation')[0].transferSize");
            let bytes = bytes.as_u64().unwrap();
            assert!(bytes < if load == "warm" { 1_000 } else { 60_000 }, "{page}, {load}: {bytes}");
        }
    }
}

#[needs(chromium)]
#[test]
fn code_has_three_colours_and_a_button_that_copies_it() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    states::reference(&zoo);
    let browser = &zoo.browser;
    docs::unfold(browser);
    let boxes = browser.value("document.querySelectorAll('.code').length");
    assert!(boxes.as_u64().unwrap() > 10, "{boxes}");
    assert_eq!(browser.value("[...document.querySelectorAll('.code')].filter(code => !code.closest('.panel').querySelector('.copy')).length"), 0);
    let colours = "new Set([...document.querySelectorAll('.documented span[class^=tok]')].map(e => getComputedStyle(e).color)).size";
    assert_eq!(browser.value(colours), 3);
    assert_eq!(
        browser.value("getComputedStyle(document.querySelector('.code code')).fontSize"),
        "13px"
    );
    for dark in [false, true] {
        browser.look(Look { dark, ..DESK });
        let differs = "(panel => getComputedStyle(panel).borderColor !== getComputedStyle(document.body).backgroundColor)(document.querySelector('.panel'))";
        assert_eq!(browser.value(differs), true, "{dark}");
    }
    assert_eq!(browser.value(r#"[...document.querySelectorAll('#first code span')].map(e => [e.className, e.textContent.slice(0, 5)])"#),
        json!([["tok-name", "curl"], ["tok-text", "'http"], ["tok-name", "-H"], ["tok-text", "\"Auth"]]));
}
/// What was shown and has moved since the page was opened: what Chromium calls layout shifts, and what moved in each.
const MOVED: &str = "
    return new Promise(done => {
        const observer = new PerformanceObserver(list => done(list.getEntries()));
        observer.observe({ type: 'layout-shift', buffered: true });
        setTimeout(() => done([]), 500);
    }).then(shifts => shifts.map(shift => [shift.value, ...shift.sources.map(({ node }) => `${node?.tagName} ${node?.id}`)]));
";

#[needs(chromium)]
#[test]
fn nothing_moves_while_a_page_loads() {
    let Some(zoo) = zoo_or_skip() else { return };
    zoo.enter("/catalogue");
    for look in [DESK, PHONE] {
        zoo.browser.look(look);
        for moved in on_both(&zoo, |browser| browser.js(MOVED)) {
            let shifts = moved.as_array().unwrap();
            let sum = shifts.iter().map(|shift| shift[0].as_f64().unwrap()).sum::<f64>();
            assert!(sum < 0.05, "{look:?}: {moved}");
        }
    }
}
