//! Rules for every state of the pages, and a test that breaks some of them.

mod contrast;

use petstore_testing::needs;
use serde_json::{Value, json};
use thirtyfour::Key;

use crate::support::{browser::Browser, zoo::Zoo};

pub(crate) use contrast::is_legible;

/// The checks of an open page in any state.
pub(crate) const CHECKS: [fn(&str, &Browser); 5] =
    [asks_nobody_else, has_an_outline, names_every_control, is_legible, can_be_skipped_to];

/// The widths of the window, in CSS pixels. Up to `NARROW` no element may leave its box.
pub(crate) const WIDTHS: [u32; 4] = [320, 390, NARROW, 1280];
pub(crate) const NARROW: u32 = 700;

/// Asserts a language, a title and one main heading.
fn has_an_outline(name: &str, browser: &Browser) {
    browser.is("document.documentElement.lang", "en");
    assert!(browser.value("document.title").as_str().unwrap().len() > 5, "{name}");
    browser.is("$$('h1').filter(e => e.checkVisibility()).length", 1);
    browser.is("$$('main').length", 1);
}

/// Asserts that the page sends no request to another host, and keeps its policy.
fn asks_nobody_else(name: &str, browser: &Browser) {
    let requests = browser.requests();
    let out = requests.iter().filter(|request| request.went_out());
    let out: Vec<_> = out.map(|request| request.url.as_str()).collect();
    assert!(!out.is_empty(), "{name}");
    let own = browser.value("location.origin + '/'").as_str().unwrap().to_owned();
    assert!(out.iter().all(|url| url.starts_with(&own)), "{name}: {out:?}");
    // A refusal of the service is not the page's fault.
    let complaints = browser.complaints();
    let own = complaints.iter().filter(|text| !text.contains("Failed to load resource"));
    assert_eq!(own.collect::<Vec<_>>(), [""; 0], "{name}");
}

/// The roles of controls.
const CONTROLS: &str = "button checkbox combobox link listbox menuitem radio searchbox slider spinbutton \
    switch tab textbox";

/// The roles of landmarks, between which a screen reader jumps.
const LANDMARKS: &str = "banner complementary contentinfo form main navigation region search";

/// Returns role and name of the nodes with these roles in the accessibility tree.
fn nodes(browser: &Browser, roles: &str) -> Vec<(String, String)> {
    let tree = browser.devtools("Accessibility.getFullAXTree", json!({}));
    let nodes = tree["nodes"].as_array().unwrap().iter().filter(|node| node["ignored"] == false);
    let text = |value: &Value| value["value"].as_str().unwrap_or_default().trim().to_owned();
    let named = nodes.map(|node| (text(&node["role"]), text(&node["name"])));
    named.filter(|(role, _)| roles.split(' ').any(|one| one == role)).collect()
}

/// Asserts that every control has a name, and that every landmark has a unique name.
fn names_every_control(page: &str, browser: &Browser) {
    let controls = nodes(browser, CONTROLS);
    assert!(controls.len() >= 5, "{page}: {controls:?}");
    let nameless = controls.iter().filter(|(_, name)| name.is_empty());
    assert_eq!(nameless.count(), 0, "{page}: {controls:?}");
    let mut landmarks = nodes(browser, LANDMARKS);
    // A form is a landmark only if it has a name.
    landmarks.retain(|(role, name)| role != "form" || !name.is_empty());
    assert!(landmarks.len() >= 4, "{page}: {landmarks:?}");
    landmarks.sort();
    assert!(landmarks.windows(2).all(|pair| pair[0] != pair[1]), "{page}: {landmarks:?}");
}

/// Asserts that the skip link leads to the main part.
fn can_be_skipped_to(_: &str, browser: &Browser) {
    browser.focus_nothing();
    for key in [Key::Tab, Key::Enter, Key::Tab] {
        browser.press(key);
    }
    browser.is("!!document.activeElement.closest('main')", true);
}

/// Returns the elements that leave their box or the window. Code blocks are exempt, because they scroll.
const OUTSIDE: &str = "
    const boxes = '.card, .try, .panel, .row, .description, .aside', inputs = 'input, textarea, select';
    return $$('main *').filter(element => {
        if (!element.checkVisibility({ opacityProperty: true }) || element.matches('.scroll, .code')) return false;
        if (element.parentElement.closest('.code, .scroll') || element.closest('.unseen, .segments input, thead, svg')) return false;
        const { left, right, width } = element.getBoundingClientRect();
        if (width === 0) return false;
        const box = element.parentElement.closest(boxes)?.getBoundingClientRect() ?? { left: 0, right: innerWidth };
        const isCut = element.closest('.card') && element.scrollWidth > element.clientWidth + 1
            && getComputedStyle(element).display !== 'inline' && !element.matches(inputs);
        return isCut || left < box.left - 1 || right > box.right + 1;
    }).map(element => `${element.tagName} ${element.id}: ${element.textContent.trim().slice(0, 40)}`);
";

/// Returns whether no element leaves its box.
pub(crate) fn stays_inside(browser: &Browser) -> bool {
    let outside = browser.js(OUTSIDE);
    if outside != json!([]) {
        eprintln!("outside of its box: {outside}");
    }
    outside == json!([])
}

#[needs(chromium)]
#[test]
fn a_broken_rule_is_noticed() {
    let zoo = Zoo::open();
    let browser = &zoo.browser;
    let other = zoo.page("/livez").replace("127.0.0.1", "localhost");
    browser.go(&other);
    assert!(browser.requests().iter().any(|request| request.url == other), "not in the log");

    zoo.enter("/catalogue").complaints();
    browser.js(&format!("document.body.append(Object.assign(new Image, {{ src: '{other}' }}))"));
    let complaints = browser.complaints();
    assert!(complaints.iter().any(|text| text.contains("Content Security Policy")), "no complaint");

    let main = "const main = $('main');";
    browser.js(&format!("{main} main.append(document.createElement('button'))"));
    assert!(
        nodes(browser, CONTROLS).contains(&("button".to_owned(), String::new())),
        "a control without a name is not noticed"
    );
    let nav = ("navigation".to_owned(), "Pages of the service".to_owned());
    browser.js(&format!("{main} main.append($('header nav').cloneNode(true))"));
    let navs = nodes(browser, LANDMARKS).into_iter().filter(|landmark| *landmark == nav);
    assert_eq!(navs.count(), 2, "a repeated landmark is not noticed");
    assert!(stays_inside(browser));
    browser.js("$('.adder').style.width = '4rem'");
    assert!(!stays_inside(browser), "an element outside of its box is not noticed");
    browser.js("$('main').style.color = '#888'");
    assert!(!contrast::too_faint(browser).is_empty(), "a faint text is not noticed");
}
