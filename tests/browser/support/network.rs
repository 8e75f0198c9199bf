//! Faults between a page and the service.

use serde_json::json;

use super::browser::Browser;

impl Browser {
    /// Cuts the page off from the network, or lets it back.
    pub(crate) fn set_offline(&self, offline: bool) {
        let network = json!({ "offline": offline, "latency": 0, "downloadThroughput": -1,
            "uploadThroughput": -1 });
        self.devtools("Network.emulateNetworkConditions", network);
    }

    /// From now on `then` answers the requests for which `which` holds, in place of the service. Both are
    /// JavaScript on `url`, `method` and `signal`; `carry()` is the answer of the service, `real` what the page
    /// had before, and `refusal` makes an error of the interface.
    pub(crate) fn intercept(&self, which: &str, then: &str) {
        self.js(&format!(
            "const real = (window.real_fetch ??= window.fetch);
             const refusal = (status, code, headers = {{}}) => new Response(
                 JSON.stringify({{ code, message: `the ${{code}}`, status }}), {{ status, headers }});
             const gate = new Promise(open => window.let_through = open);
             window.held = 0;
             window.fetch = async (url, options = {{}}) => {{
                 const {{ method = 'GET', signal }} = options, carry = () => real(url, options);
                 if (!({which})) return carry();
                 {then}
             }};"
        ));
    }

    /// The service gets the requests for which `which` holds, but the page gets no answer to them before
    /// `let_through`. Takes the place of what was held before.
    pub(crate) fn hold_answers(&self, which: &str) {
        let stop =
            "new Promise((_, stop) => signal.addEventListener('abort', () => stop(signal.reason)))";
        let then = format!(
            "const answer = await carry();
             window.held += 1;
             await Promise.race([gate, {stop}]);
             return answer;"
        );
        self.intercept(which, &then);
    }

    /// Lets the answers through that are held back, and all that follow.
    pub(crate) fn let_through(&self) {
        self.js("window.let_through()");
    }

    /// The next request that adds an animal is carried out, and its answer does not arrive at the page.
    pub(crate) fn lose_one_answer(&self) {
        let then = "window.fetch = real; await carry(); throw new TypeError('connection lost');";
        self.intercept("method === 'POST'", then);
    }

    /// From now on another party answers the requests with this method, with an error of the interface.
    pub(crate) fn answer_instead(&self, method: &str, status: u16, code: &str) {
        let then = format!("return refusal({status}, '{code}');");
        self.intercept(&format!("method === '{method}'"), &then);
    }

    /// Lets the page finish what it does about what has happened.
    pub(crate) fn settle(&self) {
        self.js("return new Promise(done => setTimeout(done, 0))");
    }
}
