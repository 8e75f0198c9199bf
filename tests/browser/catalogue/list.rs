//! The list: pages, filter, counts, and the contents of its cells.

use petstore_testing::needs;
use serde_json::{Value, json};

use crate::{
    states::{add, find},
    support::{
        browser::Browser,
        catalogue,
        server::Launch,
        store::Store,
        zoo::{Zoo, store_of},
    },
};

const IDS: &str = "[...rows.rows].map(row => row.cells[0].textContent)";

/// Waits until the list shows exactly the animals with these ids.
#[track_caller]
pub(super) fn shows(browser: &Browser, ids: impl Iterator<Item = usize>) {
    let ids: Vec<_> = ids.map(|id| id.to_string()).collect();
    let (shown, expected) = (format!("JSON.stringify({IDS})"), json!(ids).to_string());
    browser.until(&format!("animals.ariaBusy === 'false' && {shown} === {}", json!(expected)));
}

/// Waits until the focus is on the highlighted row of the animal with this id.
#[track_caller]
pub(super) fn is_at(browser: &Browser, id: &str) {
    let row = "(row => row.matches('#rows tr.new') && row.cells[0].textContent)";
    browser.until(&format!("{row}(document.activeElement) === '{id}'"));
    browser.is("rows.querySelectorAll('.new').length", 1);
}

/// Asserts which buttons of the pager are enabled.
#[track_caller]
fn can_turn(browser: &Browser, buttons: &[&str]) {
    browser.is(
        "[...pager.querySelectorAll('button')].filter(e => e.ariaDisabled === 'false').map(e => e.id)",
        json!(buttons),
    );
}

/// Returns the requests for animals since the last call.
fn reads(browser: &Browser) -> Vec<String> {
    let requests = browser.requests().into_iter();
    let reads = requests.filter(|request| request.method == "GET" && request.url.contains("/v1/"));
    reads.map(|request| request.url).collect()
}

#[needs(chromium)]
#[test]
fn pages_are_walked_along_the_links_and_stay_in_address_title_and_history() {
    let zoo = Zoo::with(45);
    let browser = zoo.enter("/catalogue");
    shows(browser, 1..=20);
    browser.reads("#list-status", "20 animals shown, page 1");
    browser.is("document.title", "All animals, page 1 – Catalogue – petstore");
    can_turn(browser, &["next"]);
    reads(browser);
    let link = zoo.client().get("/v1/pets?limit=20").send().is(200).link("next").unwrap();
    browser.click("#next");
    shows(browser, 21..=40);
    assert_eq!(reads(browser), [zoo.page(&link)]);
    // The pager above the list works too.
    browser.click(".pager:first-child [data-step=next]");
    shows(browser, 41..=45);
    browser.reads("#list-status", "5 animals shown, page 3");
    browser.reads(".pager:first-child", "Page 3");
    browser.is("document.title", "All animals, page 3 – Catalogue – petstore");
    can_turn(browser, &["first", "previous"]);
    browser.click("#previous");
    shows(browser, 21..=40);
    browser.click("#first");
    shows(browser, 1..=20);

    let browser = zoo.enter("/catalogue?limit=10");
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
    // The address alone leads to the page, like a bookmark.
    browser.js("history.replaceState(null, '', location.href)");
    browser.reload();
    shows(browser, 11..=20);
    browser.reads("#page", "A later page");
    can_turn(browser, &["first", "next"]);
}

/// Links begin with the path prefix of the public URL, which a proxy strips. This browser uses no proxy.
#[needs(chromium)]
#[test]
fn the_next_button_works_without_the_proxy() {
    let store = Store::memory();
    let public = "https://api.example/animals/v1";
    let server = Launch::on(&store).flag("--public-url", public).start();
    let zoo = Zoo { browser: Browser::open(), server, store };
    zoo.stock(25);
    let browser = zoo.enter("/catalogue");
    browser.click("#next");
    shows(browser, 21..=25);
}

#[needs(chromium)]
#[test]
fn the_filter_shows_one_status_and_stays_in_the_address() {
    let zoo = Zoo::with(45);
    let browser = zoo.enter("/catalogue");
    browser.click("#filter label:has([value=pending])");
    shows(browser, (1..=45).filter(|number| number % 4 == 1));
    assert!(browser.url().ends_with("?limit=20&status=pending"), "{}", browser.url());
    browser.is("document.title", "Pending, page 1 – Catalogue – petstore");
    browser.is("[...rows.rows].every(row => row.cells[3].textContent === 'Pending')", true);
    browser.js("limit.value = '10'; limit.dispatchEvent(new Event('change', { bubbles: true }))");
    browser.click("#next");
    shows(browser, [41, 45].into_iter());
    browser.reload();
    shows(browser, [41, 45].into_iter());
    browser.is("filter.elements.status.value", "pending");
    browser.click("#filter label:has([value=''])");
    shows(browser, 1..=10);

    // The answer to an earlier choice is dropped when it arrives late.
    browser.intercept(
        "String(url).includes('sold')",
        "const answer = await real(url, { headers: options.headers }), text = await answer.text();
         await gate;
         window.is_through = true;
         return new Response(text, { status: 200 });",
    );
    browser.click("#filter label:has([value=sold])");
    browser.click("#filter label:has([value=pending])");
    shows(browser, (1..=37).filter(|number| number % 4 == 1));
    browser.let_through();
    browser.until("window.is_through");
    browser.settle();
    shows(browser, (1..=37).filter(|number| number % 4 == 1));
}

#[needs(chromium)]
#[test]
fn an_empty_list_says_so_and_a_bad_cursor_leads_to_the_first_page() {
    let zoo = Zoo::open();
    zoo.enter("/catalogue").reads("#empty", "There is no animal yet");
    zoo.stock(1);
    let browser = zoo.enter("/catalogue?status=available");
    browser.reads("#empty", "There is no animal with the status available");
    browser.click("#show-all");
    shows(browser, 1..=1);
    // The button is gone, so the focus is on the title.
    browser.focus_is_on("list-title");
    let browser = zoo.enter("/catalogue?cursor=nonsense");
    browser.click("#list-retry");
    shows(browser, 1..=1);
    browser.is("$('#list-failure').hidden", true);
}

#[needs(chromium)]
#[test]
fn names_are_text_and_numbers_keep_every_digit() {
    let zoo = Zoo::open();
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
    let browser = zoo.enter("/catalogue");
    shows(browser, 1..=4);
    browser.is("[...rows.rows].map(row => row.cells[1].textContent)", json!(names));
    let categories: Vec<Value> = categories.iter().map(|id| json!(id.to_string())).collect();
    browser.is("[...rows.rows].map(row => row.cells[2].textContent)", categories);
    browser.is("rows.querySelectorAll('img').length", 0);
    // A focused row keeps the focus when the page is read again.
    browser.js("rows.rows[1].focus(); window.old = rows.rows[1]; refresh.click()");
    browser.until("!window.old.isConnected");
    browser.is("document.activeElement === rows.rows[1]", true);
}

#[needs(chromium)]
#[test]
fn animals_without_a_status_are_searched_until_the_table_is_full() {
    let zoo = Zoo::with(250);
    let bare = |numbers: std::ops::Range<usize>| numbers.map(|number| 4 * number + 3);
    let browser = zoo.enter("/catalogue?limit=50");
    reads(browser);
    browser.click("#filter label:has([value=none])");
    shows(browser, bare(0..50));
    // A 51st animal without a status was read, so there is a next page.
    let far = "50 animals shown, page 1. Looked through 202 animals, up to id 202.";
    browser.reads("#list-status", far);
    assert!(browser.url().ends_with("?limit=50&status=none"), "{}", browser.url());
    let asked = reads(browser);
    assert!(asked.len() == 3 && asked.iter().all(|url| !url.contains("none")), "{asked:?}");
    browser.click("#next");
    shows(browser, bare(50..62));
    let far = "12 animals shown, page 2. Looked through 50 animals, up to id 250.";
    browser.reads("#list-status", far);
    can_turn(browser, &["first", "previous"]);
    browser.reload();
    shows(browser, bare(50..62));
    browser.click("#previous");
    shows(browser, bare(0..50));
    browser.click("#filter label:has([value=sold])");
    shows(browser, (1..=199).filter(|number| number % 4 == 2));
}

/// The label and the number of each bar.
const BARS: &str = "[...bars.children].map(bar => [bar.firstChild.textContent,
    bar.querySelector('.value').firstChild.textContent])";

#[needs(chromium)]
#[test]
fn counts_are_made_on_demand_can_be_stopped_and_include_each_added_animal_once() {
    let zoo = Zoo::with(250);
    reads(&zoo.browser);
    let browser = zoo.enter("/catalogue");
    browser.reads("#count-status", "Not counted yet");
    add(browser, "Rex", "1");
    browser.reads("#added", "Added Rex");
    browser.until("animals.ariaBusy === 'false'");
    browser.is("bars.childElementCount", 0);
    assert_eq!(reads(browser).len(), 2);

    browser.click("#count");
    browser.reads("#count-status", "251 animals in all");
    browser.reads("#announcement", "251 animals in all");
    let bars = json!([["Available", "62"], ["Pending", "63"], ["Sold", "63"], ["No status", "63"]]);
    browser.is(BARS, bars.clone());
    let share = "(bar => bar.getBoundingClientRect().width / bar.ownerSVGElement.clientWidth)";
    browser.is(&format!("Math.abs({share}($('#bars rect')) - 62 / 251) < 0.01"), true);
    assert_eq!(reads(browser).len(), 3);

    // The count grows by an added animal without another request.
    browser.js("$('#status').value = 'sold'");
    add(browser, "Max", "1");
    browser.reads("#count-status", "252 animals in all");
    browser.reads("#count-status", "1 added here since");
    browser.is(&format!("{BARS}[2][1]"), "64");
    browser.until("animals.ariaBusy === 'false'");
    assert_eq!(reads(browser).len(), 1);

    // The earlier counts stay when a new count is stopped.
    browser.hold_answers("url.includes('cursor')");
    browser.click("#count");
    browser.reads("#count-status", "Counting… 100 animals so far");
    browser.reads("#count", "Stop");
    browser.click("#count");
    browser.reads("#count-status", "Stopped after 100 animals. 252 animals in all");
    browser.is(&format!("{BARS}[2][1]"), "64");
    browser.let_through();

    // An animal that is added while the first or the second page of a count is held back is counted once.
    for (page, name, total) in [("limit=100'", "Ada", "253"), ("cursor'", "Bea", "254")] {
        let which =
            format!("method === 'GET' && url.includes('{page}) && !url.includes('limit=20')");
        browser.hold_answers(&which);
        browser.click("#count");
        browser.until("window.held === 1");
        add(browser, name, "1");
        browser.reads("#added", name);
        browser.let_through();
        browser.reads("#count-status", &format!("{total} animals in all"));
    }
}

/// One press reads at most 5,000 animals. Another press continues.
#[needs(chromium)]
#[test]
fn a_count_and_a_search_have_a_bound_and_continue_on_request() {
    let zoo = Zoo::on(store_of(5101));
    let browser = zoo.enter("/catalogue");
    browser.click("#filter label:has([value=none])");
    browser.reads("#empty", "No animal without a status so far. “Next” looks further.");
    browser.reads("#list-status", "Looked through 5,000 animals, up to id 5000.");
    browser.click("#next");
    shows(browser, 5101..=5101);
    let far = "1 animal shown, page 2. Looked through 101 animals, up to id 5101.";
    browser.reads("#list-status", far);

    browser.click("#count");
    browser.reads("#count-status", "At least 5,000 animals, counted up to id 5000");
    browser.is(&format!("{BARS}[2]"), json!(["Sold", "5,000"]));
    // The added animal comes after the counted animals, so it is not counted yet.
    add(browser, "Rex", "1");
    browser.reads("#added", "Added Rex");
    browser.reads("#count-status", "At least 5,000 animals");
    browser.click("#count-on");
    browser.reads("#count-status", "5,102 animals in all");
    browser.is("$('#count-on').hidden", true);
    browser.focus_is_on("count");

    let browser = zoo.enter("/catalogue?limit=100");
    find(browser, "5101");
    browser.reads("#found-title", "pet 5101");
    browser.click("#found-show");
    browser.reads("#found-status", "Not reached yet. Looked through 5,000 animals, up to id 5100.");
    browser.reads("#announcement", "Not reached yet.");
    browser.reads("#found-show", "Continue the search");
    browser.click("#found-show");
    is_at(browser, "5101");
    browser.reads("#page", "Page 52");
}

#[needs(chromium)]
#[test]
fn a_walk_waits_as_long_as_the_service_asks_for() {
    let zoo = Zoo::with(150);
    let browser = zoo.enter("/catalogue");
    let refuse = "window.held += 1;
        return window.held % 3 ? refusal(429, 'rate_limited', { 'Retry-After': '1' }) : carry();";
    browser.intercept("url.includes('limit=100')", refuse);
    browser.click("#count");
    browser.reads("#count-status", "150 animals in all");
    browser.click("#filter label:has([value=none])");
    browser.reads("#list-status", "20 animals shown, page 1");
    browser.is("window.held > 6", true);
    browser.click("#filter label:has([value=''])");
    shows(browser, 1..=20);
    // The list says when to try again, in words for people.
    browser.intercept("true", "const answer = refusal(429, 'rate_limited', { 'Retry-After': '7' }), body = await answer.json();
        body.message = 'too many requests; try again after the time in Retry-After';
        return new Response(JSON.stringify(body), { status: 429, headers: answer.headers });");
    browser.click("#refresh");
    browser.reads("#list-failure", "The service refused: too many requests. Try again in 7 s.");
}

#[needs(chromium)]
#[test]
fn a_failed_read_or_count_keeps_the_data_and_shows_its_time() {
    let zoo = Zoo::with(25);
    let browser = zoo.enter("/catalogue");
    browser.click("#count");
    browser.reads("#count-status", "25 animals in all");
    let bars = browser.value("bars.innerHTML");
    browser.set_offline(true);
    browser.click("#count");
    browser.reads("#count-failure", "Not counted. The service did not answer");
    browser.reads("#count-status", "25 animals in all, counted at");
    browser.is("bars.innerHTML", bars);
    browser.click("#refresh");
    browser.reads("#list-failure", "Shown is page 1 of all animals, as it was at");
    let is_time =
        format!(r"/\d{{1,2}}:\d{{2}}:\d{{2}}/.test({})", json!(browser.text("#list-failure")));
    browser.is(&is_time, true);
    shows(browser, 1..=20);
    // The next page does not arrive either, so the first page stays. The error is visible.
    browser.click("#next");
    browser.reads("#list-failure", "Shown is page 1 of all animals");
    browser.reads("#page", "Page 1");
    browser.until("$('#list-failure').getBoundingClientRect().top >= 0");
    shows(browser, 1..=20);
    browser.set_offline(false);
    browser.click("#list-retry");
    shows(browser, 21..=25);
    browser.is("$('#list-failure').hidden", true);
    browser.focus_is_on("list-title");

    let browser = zoo.enter("/catalogue?status=sold&limit=10");
    browser.set_offline(true);
    browser.click("#filter label:has([value=''])");
    browser.reads("#list-failure", "Shown is page 1 of the animals with the status sold");
    browser.set_offline(false);
    browser.click("#list-retry");
    shows(browser, 1..=10);
}
