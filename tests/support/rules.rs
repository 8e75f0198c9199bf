//! Rules for every answer of the service. The clients check each answer against the rules, unless the test reads it
//! unchecked, for example by [`Raw::any_answer`](super::raw::Raw::any_answer).

use std::{collections::BTreeSet, sync::LazyLock};

use serde_json::Value;

use super::answer::Answer;

/// Every error code of the interface, under its status.
static CODES: LazyLock<BTreeSet<(u16, &str)>> = LazyLock::new(|| codes(INTERFACE));
pub(crate) const INTERFACE: &str = include_str!("../../docs/INTERFACE.md");

/// Returns status and code of each row of a table of errors.
pub(crate) fn codes(table: &str) -> BTreeSet<(u16, &str)> {
    let cells = table.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | `"));
    cells
        .filter_map(|(status, rest)| Some((status.parse().ok()?, rest.split_once("` | ")?.0)))
        .collect()
}

/// Every header that an answer may carry.
const HEADERS: [&str; 27] = [
    "accept-post",
    "access-control-allow-headers",
    "access-control-allow-methods",
    "access-control-allow-origin",
    "access-control-expose-headers",
    "access-control-max-age",
    "allow",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-security-policy",
    "content-type",
    "date",
    "deprecation",
    "etag",
    "idempotency-replayed",
    "link",
    "location",
    "referrer-policy",
    "retry-after",
    "sunset",
    "traceresponse",
    "vary",
    "www-authenticate",
    "x-content-type-options",
    "x-request-id",
];

/// The part of a request that the rules for its answer use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sent {
    pub(crate) method: String,
    /// Empty if the test sends no complete head of a request.
    pub(crate) target: String,
    pub(crate) request_id: Option<String>,
    /// `true` with a credential, `false` without one; `None` skips the check of the `error` of a challenge.
    pub(crate) credential: Option<bool>,
}

impl Sent {
    pub(crate) fn new(method: &str, target: &str) -> Self {
        Self { method: method.to_owned(), target: target.to_owned(), ..Self::default() }
    }

    fn is_under_v1(&self) -> bool {
        let path = self.target.split('?').next().unwrap_or_default();
        path == "/v1" || path.starts_with("/v1/")
    }

    /// Returns whether the request is for a file of a browser page.
    fn is_a_page(&self) -> bool {
        ["/docs", "/catalogue"].iter().any(|page| self.target.starts_with(page))
    }

    fn reads(&self) -> bool {
        ["GET", "HEAD"].contains(&self.method.as_str())
    }
}

/// Asserts all rules for one answer.
#[track_caller]
pub(crate) fn check(sent: &Sent, answer: &Answer) {
    let outcome = headers(sent, answer)
        .and_then(|()| body(sent, answer))
        .and_then(|()| status_headers(sent, answer));
    if let Err(broken) = outcome {
        panic!("{broken}\n{sent:?}\n{answer:?}");
    }
}

type Outcome = Result<(), String>;

fn hold(holds: bool, rule: &str) -> Outcome {
    if holds { Ok(()) } else { Err(format!("broken rule: {rule}")) }
}

fn headers(sent: &Sent, answer: &Answer) -> Outcome {
    for (name, _) in &answer.headers {
        hold(HEADERS.contains(&name.as_str()), &format!("{name} is a known header"))?;
        let once = name == "link" || answer.all(name).len() == 1;
        hold(once, &format!("{name} comes once"))?;
    }
    let id = answer.header("x-request-id").unwrap_or_default();
    hold(is_request_id(id), "X-Request-Id is 1 to 128 visible ASCII characters")?;
    if let Some(own) = &sent.request_id {
        hold((id == own) == is_request_id(own), "only a valid X-Request-Id comes back")?;
    }
    let nosniff = answer.header("x-content-type-options") == Some("nosniff");
    hold(nosniff, "X-Content-Type-Options: nosniff")?;
    let date = answer.header("date").unwrap_or_default();
    hold(date.len() == 29 && date.ends_with(" GMT"), "Date in the form of RFC 9110")?;
    if sent.is_under_v1() {
        let caching = answer.header("cache-control");
        hold(caching == Some("private, no-cache"), "Cache-Control under /v1")?;
    }
    Ok(())
}

fn is_request_id(text: &str) -> bool {
    (1..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn body(sent: &Sent, answer: &Answer) -> Outcome {
    if sent.method == "HEAD" || [204, 304].contains(&answer.status) {
        return hold(answer.body.is_empty(), "HEAD, 204 and 304 have no body");
    }
    let json = answer.header("content-type") == Some("application/json");
    if sent.is_under_v1() && !answer.body.is_empty() {
        hold(json, "the body is application/json")?;
    }
    if answer.status < 400 {
        return Ok(());
    }
    hold(json, "an error is application/json")?;
    let error = answer.json();
    let fields = error.as_object().ok_or("an error is an object")?;
    let known = ["code", "message", "status"];
    let exactly = fields.len() == known.len() && known.iter().all(|key| fields.contains_key(*key));
    hold(exactly, "an error has exactly code, message, status")?;
    hold(error["status"] == answer.status, "status is the HTTP status")?;
    hold(error["message"].as_str().is_some_and(|text| !text.is_empty()), "a message is not empty")?;
    let code = error["code"].as_str().unwrap_or_default();
    hold(CODES.contains(&(answer.status, code)), "INTERFACE.md lists the code under its status")
}

fn status_headers(sent: &Sent, answer: &Answer) -> Outcome {
    let iff = |belongs: bool, name: &str| {
        let rule = format!("{name} is present: {belongs}");
        hold(answer.header(name).is_some() == belongs, &rule)
    };
    let status = answer.status;
    iff([401, 403].contains(&status), "www-authenticate")?;
    iff(status == 415, "accept-post")?;
    iff([429, 503].contains(&status), "retry-after")?;
    let preflight = answer.header("access-control-max-age").is_some();
    let options = status == 204 && sent.method == "OPTIONS";
    hold(options || !preflight, "Access-Control-Max-Age only on a 204 to OPTIONS")?;
    iff(status == 405 || options && !preflight, "allow")?;
    let page = sent.is_a_page() && sent.reads() && [200, 304].contains(&status);
    for header in ["content-security-policy", "referrer-policy"] {
        iff(page, header)?;
    }
    let vary: Vec<_> = answer.header("vary").unwrap_or_default().split(", ").collect();
    let coded = vary.contains(&"accept-encoding");
    let forms = answer.header("etag").is_some();
    hold(!forms || status < 400, "no ETag on an error")?;
    hold(coded == forms, "Vary: accept-encoding exactly when there is an ETag")?;
    let encoded = answer.header("content-encoding").is_some();
    hold(forms || !encoded, "Content-Encoding only with an ETag")?;
    if let Some(kinds) = answer.header("accept-post") {
        hold(kinds == "application/json", "Accept-Post: application/json")?;
    }
    if let Some(challenge) = answer.header("www-authenticate") {
        challenge_fits(sent, status, challenge)?;
    }
    let resource = sent.target.starts_with("/v1/pets") && sent.reads();
    if resource && [200, 304].contains(&status) {
        let tag = answer.header("etag").unwrap_or_default();
        let weak = tag.len() > 4 && tag.starts_with("W/\"") && tag.ends_with('"');
        hold(weak, "a weak ETag on every list and get")?;
    }
    Ok(())
}

fn challenge_fits(sent: &Sent, status: u16, challenge: &str) -> Outcome {
    let bare = "Bearer realm=\"petstore\"";
    if status == 403 {
        let scope = challenge == format!("{bare}, error=\"insufficient_scope\"");
        return hold(scope, "WWW-Authenticate of a 403 has insufficient_scope");
    }
    let refused = challenge == format!("{bare}, error=\"invalid_token\"");
    hold(refused || challenge == bare, "WWW-Authenticate is one of two challenges")?;
    let fits = sent.credential.is_none_or(|sent| sent == refused);
    hold(fits, "error=\"invalid_token\" exactly when a credential was sent")
}

/// Returns whether a JSON value is an animal with the fields of the interface and no others.
pub(crate) fn is_pet(value: &Value) -> bool {
    let Some(fields) = value.as_object() else { return false };
    fields.iter().all(|(key, value)| match key.as_str() {
        "id" | "categoryId" => value.is_i64(),
        "name" => value.is_string(),
        "status" => ["available", "pending", "sold"].iter().any(|status| value == status),
        _ => false,
    }) && ["id", "categoryId", "name"].iter().all(|key| fields.contains_key(*key))
}
