//! The parts of a URL, and the errors of wrong URLs. The adapters test their own parameters.

use std::time::Duration;

use super::{Address, InvalidUrl, duration, parameters};

fn parse(url: &str) -> Result<(Address, Option<String>), InvalidUrl> {
    Address::parse(url, &["zoo://", "park://"], 7, "write zoo://HOST", |address, query| {
        Ok((address, query.map(str::to_owned)))
    })
}

fn refusal<T>(result: Result<T, InvalidUrl>) -> String {
    result.err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn a_url_has_a_credential_hosts_a_name_and_a_query() {
    let (address, query) = parse("zoo://me%40:p:%25@a%2Fb,[::1]:1,b:2/na/me?x=1?").unwrap();
    let Address { user, password, hosts, name } = address;
    assert_eq!((user.as_deref(), password.as_deref()), (Some("me@"), Some("p:%")));
    let shown: Vec<_> = hosts.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["a/b:7", "[::1]:1", "b:2"]);
    assert_eq!((&*name, query.as_deref()), ("na/me", Some("x=1?")));
    let (address, query) = parse("park://me@%2Frun").unwrap();
    assert_eq!((address.user.as_deref(), address.password), (Some("me"), None));
    assert_eq!((address.name, query), (String::new(), None));
    assert!(address.hosts[0].is_unix() && !hosts[0].is_unix());
    assert_eq!(parse("zoo://a").unwrap().0.user, None);
}

#[test]
fn a_wrong_url_is_refused_without_its_text() {
    let password = refusal(Err::<(), _>(InvalidUrl::encoding("password")));
    for (url, says) in [
        ("", "write zoo://HOST"),
        ("zoo:a", "write zoo://HOST"),
        ("zoo://[::1]a", "write zoo://HOST"),
        ("zoo://", "a host is missing; write zoo://HOST"),
        ("zoo://a,", "a host is missing"),
        ("zoo://a:", "a port is not a number from 1 to 65535"),
        ("zoo://a:0", "a port is not"),
        ("zoo://a:65536", "a port is not"),
        ("zoo://a=b", "the host is not properly percent-encoded"),
        ("zoo://a&b", "the host is not properly"),
        ("zoo://u;hush:p@a", "the user is not properly"),
        ("zoo://u:hush%4@a", &password),
        ("zoo://u:hush%+1@a", &password),
        ("zoo://u:hush%ff@a", &password),
        ("zoo://u:hush%C2%85@a", &password),
        // The password contains a question mark that is not encoded.
        ("zoo://u:x?hush@a", &password),
    ] {
        let refusal = refusal(parse(url));
        assert!(refusal.starts_with(says) && !refusal.contains("hush"), "{url}: {refusal}");
    }
}

#[test]
fn parameters_are_known_decoded_and_given_once() {
    let set = |query| {
        let mut values = Vec::new();
        let set = |name: &str, value: &str| {
            values.push((name.to_owned(), value.to_owned()));
            if value == "bad" { Err("use good") } else { Ok(()) }
        };
        parameters(query, "a, b", "b", set).map(|()| values)
    };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(set("a=1%20&b=c=d;").unwrap(), [pair("a", "1 "), pair("b", "c=d;")]);
    assert_eq!(set("a").unwrap(), [pair("a", "")]);
    for (query, says) in [
        ("", "parameter 1 behind the ? is none of a, b"),
        ("a=1&c=2", "parameter 2 behind the ? is none of a, b"),
        ("a, b=1", "parameter 1"),
        ("a=1&b=2&a=3", "a is given twice"),
        ("a=1;2", "the a is not properly percent-encoded"),
        ("a=bad", "the value of a is not allowed: use good"),
    ] {
        let refusal = refusal(set(query));
        assert!(refusal.starts_with(says), "{query}: {refusal}");
    }
}

#[test]
fn a_time_has_a_unit_or_the_unit_of_its_parameter() {
    let [millis, seconds] = [Duration::from_millis, Duration::from_secs];
    for (text, expected) in [
        ("5", seconds(5)),
        ("1ms", millis(1)),
        ("3s", seconds(3)),
        ("2min", seconds(120)),
        ("60min", seconds(3600)),
        ("3600000ms", seconds(3600)),
    ] {
        assert_eq!(duration(text, seconds), Ok(expected), "{text}");
    }
    assert_eq!(duration("5", millis), Ok(millis(5)));
    for text in ["", "0", "0ms", "s", "-1s", "1.5s", "1h", "61min", "3600001ms", "4294967296ms"] {
        assert!(duration(text, seconds).is_err(), "{text}");
    }
}
