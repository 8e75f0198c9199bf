//! Faults on the way between a page and the service.

use serde_json::json;

use super::browser::Browser;

impl Browser {
    /// Disconnects the page from the network, or connects it again.
    pub(crate) fn set_offline(&self, offline: bool) {
        let network = json!({ "offline": offline, "latency": 0, "downloadThroughput": -1,
            "uploadThroughput": -1 });
        self.devtools("Network.emulateNetworkConditions", network);
    }

    /// Answers the requests that match `which` with `then` instead of the service. Both are JavaScript with `url`,
    /// `method` and `signal`. `carry()` returns the answer of the service, `real` is the browser's own `fetch`,
    /// `refusal` makes an error of the interface, and `gate` resolves at `let_through`. Replaces an earlier call.
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

    /// Sends the requests that match `which` to the service, but holds their answers back until `let_through`.
    /// `window.held` counts the held answers. Replaces an earlier call.
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

    /// Lets the held answers and all later answers through.
    pub(crate) fn let_through(&self) {
        self.js("window.let_through()");
    }

    /// Loses the answer to the next addition. The service still adds the animal.
    pub(crate) fn lose_one_answer(&self) {
        let then = "window.fetch = real; await carry(); throw new TypeError('connection lost');";
        self.intercept("method === 'POST'", then);
    }

    /// Answers the requests with this method with an error that does not come from the service.
    pub(crate) fn answer_instead(&self, method: &str, status: u16, code: &str) {
        let then = format!("return refusal({status}, '{code}');");
        self.intercept(&format!("method === '{method}'"), &then);
    }

    /// Waits until the page has handled everything that happened.
    pub(crate) fn settle(&self) {
        self.js("return new Promise(done => setTimeout(done, 0))");
    }
}
