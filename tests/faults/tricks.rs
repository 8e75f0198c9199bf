//! Requests whose end can be read in two ways (request smuggling: RFC 9112, section 11.2).

use crate::support::{
    catalogue::pet,
    raw::{head, post},
};

/// The bytes of a trick, and the statuses of the service's answers.
pub(crate) struct Trick {
    pub(crate) what: &'static str,
    pub(crate) bytes: Vec<u8>,
    pub(crate) statuses: &'static [u16],
}

/// Returns the request that follows the request of a trick. Its answer is 501, so the statuses show whether the service
/// has found it.
fn hidden() -> String {
    head("GET", "/v1/store/orders", "")
}

/// Returns a POST with these header lines, `body`, and the hidden request.
fn framed(lines: &str, body: &str) -> String {
    head("POST", "/v1/pets", &format!("content-type: application/json\r\n{lines}"))
        + body
        + hidden().as_str()
}

/// Returns an animal in one chunk, and `end`. `size` is the chunk size line, with `{}` for the number.
fn chunk(size: &str, end: &str) -> String {
    let body = pet("chunked").to_string();
    format!("{}\r\n{body}\r\n{end}", size.replace("{}", &format!("{:x}", body.len())))
}

/// Returns a GET with these header lines, and the hidden request.
fn get(lines: &str) -> String {
    head("GET", "/livez", lines) + hidden().as_str()
}

const LAST: &str = "0\r\n\r\n";
const CHUNKED: &str = "transfer-encoding: chunked\r\n";

/// Returns all tricks.
pub(crate) fn all() -> Vec<Trick> {
    let trick =
        |(what, text, statuses): (_, String, _)| Trick { what, bytes: text.into(), statuses };
    let all = lengths().into_iter().chain(codings()).chain(chunks()).chain(heads());
    all.map(trick).collect()
}

type Row = (&'static str, String, &'static [u16]);

fn lengths() -> Vec<Row> {
    let body = pet("long").to_string();
    let length = body.len();
    let of = |value: &str| framed(&format!("content-length: {value}\r\n"), &body);
    let one = format!("content-length: {length}\r\n");
    vec![
        ("one length", of(&length.to_string()), &[201, 501]),
        ("two lengths", framed(&format!("{one}content-length: 1\r\n"), &body), &[400]),
        ("a list of two lengths", of(&format!("{length}, 1")), &[400]),
        ("a length with a sign", of(&format!("+{length}")), &[400]),
        ("a negative length", of("-1"), &[400]),
        ("a hexadecimal length", of(&format!("0x{length:x}")), &[400]),
        ("an empty length", of(""), &[400]),
        ("a length beyond 64 bits", of("18446744073709551617"), &[400]),
        ("a space before the colon", framed(&one.replace(':', " :"), &body), &[400]),
        ("a GET with a body", get(&format!("content-length: {}\r\n", hidden().len())), &[200]),
    ]
}

fn codings() -> Vec<Row> {
    let of = |value: &str| framed(&format!("transfer-encoding:{value}\r\n"), &chunk("{}", LAST));
    let with_length = |length: &str| {
        framed(&format!("content-length: {length}\r\n{CHUNKED}"), &chunk("{}", LAST))
    };
    let old = framed(CHUNKED, &chunk("{}", LAST)).replace("HTTP/1.1", "HTTP/1.0");
    vec![
        ("chunked", of(" chunked"), &[201, 501]),
        ("in capitals", of(" CHUNKED"), &[201, 501]),
        ("a length and a coding", with_length("4"), &[201]),
        ("an empty length and a coding", with_length(""), &[400]),
        ("another coding", of(" xchunked"), &[400]),
        ("chunked is not the last coding", of(" chunked, identity"), &[400]),
        ("chunked twice", of(" chunked, chunked"), &[400]),
        ("a vertical tab before the coding", of(" \u{b}chunked"), &[400]),
        ("quotes around the coding", of(" \"chunked\""), &[400]),
        ("a space before the colon", of(" chunked").replace("encoding:", "encoding :"), &[400]),
        ("a coding in HTTP/1.0", old, &[400]),
    ]
}

fn chunks() -> Vec<Row> {
    let of = |size: &str| framed(CHUNKED, &chunk(size, LAST));
    let end = |end: &str| framed(CHUNKED, &chunk("{}", end));
    vec![
        ("zeros before a size", of("000{}"), &[201, 501]),
        ("an extension", of("{};a=b"), &[201, 501]),
        ("a size with a prefix", of("0x{}"), &[400]),
        ("a size with a sign", of("+{}"), &[400]),
        ("a size beyond 64 bits", of("10000000000000000{}"), &[400]),
        ("a bare LF behind a size", of("{}\n0"), &[400]),
        ("a bare LF in an extension", of("{};a\nb"), &[400]),
        ("data beyond its size", of("5"), &[400]),
        ("a trailer field", end("0\r\ncontent-length: 5\r\n\r\n"), &[201, 501]),
    ]
}

fn heads() -> Vec<Row> {
    let bare = |text: String| text.replace("\r\n", "\n");
    let foreign = head("GET", "http://elsewhere/livez", "") + hidden().as_str();
    let short = post(&pet("short").to_string()).replace("content-length:", "content-length-:");
    vec![
        ("an empty line before the request", format!("\r\n{}", get("")), &[200, 501]),
        ("bare LF", bare(get("")), &[200, 501]),
        ("a bare CR in a value", get("x: a\rb\r\n"), &[400]),
        ("a bare CR as the end of a line", get("x: a\rcontent-length: 5\r\n"), &[400]),
        ("a folded line", get("x: a\r\n b\r\n"), &[400]),
        ("a folded length", get("content-length:\r\n 5\r\n"), &[400]),
        ("NUL in a value", get("x: a\0b\r\n"), &[400]),
        ("NUL in a name", get("x\0: a\r\n"), &[400]),
        ("a line without a colon", get("x\r\n"), &[400]),
        ("two hosts", get("host: elsewhere\r\n"), &[400]),
        ("the absolute form with a foreign authority", foreign, &[200, 501]),
        ("an upgrade to HTTP/2", get("upgrade: h2c\r\nconnection: upgrade\r\n"), &[200, 501]),
        ("a body that no line announces", short, &[400, 400]),
    ]
}
