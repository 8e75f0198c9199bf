//! The parts of a URL, and the refusals.

use std::time::Duration;

use super::{Address, HostPort, InvalidUrl, MAX_DURATION, PORT, duration, parameters};

const FORM: &str = "write kept://HOST/NAME";

/// Parses a URL with the parameters `a`, `b` and the lenient `c`. Returns its parts, and the parameters as given to `set`.
fn parse(url: &str) -> Result<(Address, Vec<(String, String)>), InvalidUrl> {
    Address::parse(url, &["kept://", "k://"], 7, FORM, |address, query| {
        let mut given = Vec::new();
        let set = |name: &str, value: &str| {
            given.push((name.to_owned(), value.to_owned()));
            if value == "wrong" { Err("it is right") } else { Ok(()) }
        };
        query.map_or(Ok(()), |query| parameters(query, "a, b, c", "c", set))?;
        Ok((address, given))
    })
}

#[test]
fn every_part_arrives_decoded() {
    let (address, given) =
        parse("kept://me%40x:p%3A@%25@a,b:6,[::1]:1,[::2],%2Frun/n%2F/m?c=1=2&a=%3B&b").unwrap();
    assert_eq!(
        (address.user.as_deref(), address.password.as_deref()),
        (Some("me@x"), Some("p:@%"))
    );
    let hosts: Vec<_> = address.hosts.iter().map(ToString::to_string).collect();
    assert_eq!(hosts, ["a:7", "b:6", "[::1]:1", "[::2]:7", "/run:7"]);
    let is_unix: Vec<_> = address.hosts.iter().map(HostPort::is_unix).collect();
    assert_eq!(
        (is_unix, address.name.as_str()),
        (vec![false, false, false, false, true], "n%2F/m")
    );
    let given: Vec<_> = given.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(given, [("c", "1=2"), ("a", ";"), ("b", "")]);
    let (address, _) = parse("k://h").unwrap();
    assert_eq!((address.user, address.password, address.name), (None, None, String::new()));
    assert_eq!(parse("k://u@h").unwrap().0.password, None);
}

#[test]
fn a_wrong_part_is_named() {
    let encoding = |part: &str| InvalidUrl::encoding(part).to_string();
    let [user, password, host, a] = ["user", "password", "host", "a"].map(encoding);
    let twice = "a is given twice; give it once";
    let unknown = "parameter 2 behind the ? is none of a, b, c; user and password are written in front of the host";
    let wrong = "the value of b is not allowed: it is right";
    let missing = format!("a host is missing; {FORM}");
    let table: &[(&str, &str)] = &[
        ("other://h", FORM),
        ("k://[::1]7/n", FORM),
        ("k:///n", &missing),
        ("k://a,/n", &missing),
        ("k://h:0", PORT),
        ("k://h:65536", PORT),
        ("k://h:x", PORT),
        ("k://u;x@h", &user),
        ("k://u:%zz@h", &password),
        ("k://u:%+1@h", &password),
        ("k://u:%1@h", &password),
        ("k://u:p?x@h", &password),
        ("k://h%ff", &host),
        ("k://h%0a", &host),
        ("k://h?a=1&a=2", twice),
        ("k://h?a=1&d=2", unknown),
        ("k://h?a=1;2", &a),
        ("k://h?b=wrong", wrong),
    ];
    for &(url, expected) in table {
        assert_eq!(parse(url).unwrap_err().to_string(), expected, "{url}");
    }
}

#[test]
fn a_time_has_a_unit_and_bounds() {
    let parse = |text| duration(text, Duration::from_secs);
    for (text, time) in [
        ("7", Some(Duration::from_secs(7))),
        ("1ms", Some(Duration::from_millis(1))),
        ("9s", Some(Duration::from_secs(9))),
        ("60min", Some(MAX_DURATION)),
        ("3601s", None),
        ("0s", None),
        ("1h", None),
        ("s", None),
        ("-1s", None),
    ] {
        assert_eq!(parse(text).ok(), time, "{text}");
    }
}
