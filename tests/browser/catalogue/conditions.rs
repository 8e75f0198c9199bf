//! Conditions between the page and the service.

use serde_json::json;

use crate::support::browser::Browser;

/// Cuts the page off from the network, or lets it back.
pub(crate) fn set_offline(browser: &Browser, offline: bool) {
    let network = json!({ "offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1 });
    browser.devtools("Network.emulateNetworkConditions", network);
}

/// From now on the service gets the requests for which `which` holds, an expression of JavaScript on
/// `url` and `method`, but the page gets no answer to them before `let_through`.
/// Takes the place of what was held before.
pub(crate) fn hold_answers(browser: &Browser, which: &str) {
    browser.js(&format!(
        "const real = (window.real_fetch ??= window.fetch);
         const gate = new Promise(open => window.let_through = open);
         window.held = 0;
         window.fetch = async (url, options = {{}}) => {{
             const method = options.method ?? 'GET';
             const answer = await real(url, options);
             if (!({which})) return answer;
             window.held += 1;
             await Promise.race([gate, new Promise((_, stop) =>
                 options.signal.addEventListener('abort', () => stop(options.signal.reason)))]);
             return answer;
         }};"
    ));
}

/// Lets the answers through that are held back, and all that follow.
pub(crate) fn let_through(browser: &Browser) {
    browser.js("window.let_through()");
}

/// Lets the page finish what it does about what has happened.
pub(crate) fn settle(browser: &Browser) {
    browser.js("return new Promise(done => setTimeout(done, 0))");
}

/// The answer to the next request that adds an animal does not arrive at the page.
pub(crate) fn lose_one_answer(browser: &Browser) {
    browser.js("const real = window.fetch; let is_lost = false;
         window.fetch = async (url, options = {}) => {
             const answer = await real(url, options);
             if (options.method !== 'POST' || is_lost) return answer;
             is_lost = true;
             throw new TypeError('connection lost');
         };");
}

/// The next request that adds an animal is carried out, and the page is told that it failed with `status`.
pub(crate) fn spoil_one_answer(browser: &Browser, status: u16) {
    browser.js(&format!(
        "const real = window.fetch; let is_spoilt = false;
         window.fetch = async (url, options = {{}}) => {{
             const answer = await real(url, options);
             if (options.method !== 'POST' || is_spoilt) return answer;
             is_spoilt = true;
             const body = {{ code: 'unavailable', message: 'try again', status: {status} }};
             return new Response(JSON.stringify(body), {{ status: {status} }});
         }};"
    ));
}

/// From now on another party answers the requests with this method, with an error of the interface.
pub(crate) fn answer_instead(browser: &Browser, method: &str, status: u16, code: &str) {
    browser.js(&format!(
        "const real = window.fetch; window.fetch = async (url, options = {{}}) =>
             (options.method ?? 'GET') !== '{method}' ? real(url, options) : new Response(
                 JSON.stringify({{ code: '{code}', message: 'the {code}', status: {status} }}),
                 {{ status: {status} }});"
    ));
}
