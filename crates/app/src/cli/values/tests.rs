use std::time::Duration;

use super::{
    ListenAddress, body_size, delimiter, environment, grace, lifetime, listen_address, memory,
    number, origin, overlap, service_url, timeout,
};

#[test]
fn a_timeout_is_1_ms_to_24_hours() {
    for (text, millis) in
        [("10s", 10_000), ("500ms", 500), ("24h", 86_400_000), ("1m 30s", 90_000), ("1ms", 1)]
    {
        assert_eq!(timeout(text), Ok(Duration::from_millis(millis)), "{text:?}");
    }
    for text in ["0s", "999us", "25h", "86401s", "1000y", "18446744073709551615s1000ms"] {
        assert_eq!(timeout(text), Err("the duration must be 1ms to 24h".to_owned()), "{text:?}");
    }
    for text in ["", " ", "10", "s", "10x", "-1s", "1e3s", "1,5s", "ten s", "18446744073709551616s"]
    {
        assert!(timeout(text).is_err(), "{text:?}");
    }
}

#[test]
fn a_grace_may_be_zero_and_a_lifetime_may_be_100_years() {
    assert_eq!(grace("0s"), Ok(Duration::ZERO));
    assert_eq!(grace("24h"), Ok(Duration::from_hours(24)));
    assert_eq!(grace("86401s"), Err("the duration must be 0s to 24h".to_owned()));
    // The longest text has 20 bytes.
    assert_eq!(lifetime("0000000000000000001s"), Ok(Duration::from_secs(1)));
    assert_eq!(lifetime("90d"), Ok(Duration::from_hours(90 * 24)));
    assert!(lifetime("100y").is_ok() && overlap("100y").is_ok());
    for (text, refusal) in [
        ("0s", "the duration must be 1s to 100years"),
        ("101y", "the duration must be 1s to 100years"),
        ("90", "a duration has a unit; write 90d for 90 days"),
        ("never", "leave the flag out for a key that does not expire"),
        ("", "a duration is written like 10s, 500ms or 24h"),
    ] {
        assert_eq!(lifetime(text), Err(refusal.to_owned()), "{text:?}");
    }
}

#[test]
fn a_body_has_1_byte_to_16_mebibytes_and_memory_may_be_zero() {
    let table = [("1", 1), ("1B", 1), ("64KiB", 65_536), ("64kb", 64_000), ("16MiB", 16_777_216)];
    for (text, bytes) in table {
        assert_eq!(body_size(text), Ok(bytes), "{text:?}");
        assert_eq!(memory(text), Ok(bytes), "{text:?}");
    }
    for text in ["0", "0KiB", "16777217", "17MiB"] {
        assert!(body_size(text).is_err(), "{text:?}");
        assert!(memory(text).is_ok(), "{text:?}");
    }
    assert_eq!(memory("64GiB"), Ok(68_719_476_736));
    for text in ["", "99999EiB", "65GiB", "-1", "64 monkeys", "KiB"] {
        assert!(body_size(text).is_err() && memory(text).is_err(), "{text:?}");
    }
}

#[test]
fn a_delimiter_is_one_character_that_needs_no_quotes() {
    for (text, character) in [("tab", '\t'), ("\t", '\t'), (" ", ' '), (";", ';'), ("|", '|')] {
        assert_eq!(delimiter(text), Ok(character), "{text:?}");
    }
    for text in ["", "\"", "a", "1", "é", "\n", ",,"] {
        assert!(delimiter(text).unwrap_err().contains("other than '\"'"), "{text:?}");
    }
}

#[test]
fn a_number_is_1_to_a_million() {
    assert_eq!(number("10000").map(std::num::NonZeroUsize::get), Ok(10_000));
    assert_eq!(number("1000000").map(std::num::NonZeroUsize::get), Ok(1_000_000));
    for text in ["", "0", "-1", "1000001", "1e3", "99999999999999999999999"] {
        assert!(number::<std::num::NonZeroU32>(text).is_err(), "{text:?}");
    }
}

#[test]
fn an_environment_has_up_to_64_characters_without_control_characters() {
    for text in ["production", "blue/green 2", "Zürich \"A\"", &"ü".repeat(64)] {
        assert_eq!(environment(text).as_deref(), Ok(text));
    }
    for text in ["", "a\nb", "a\u{85}b", &"x".repeat(65)] {
        assert!(environment(text).is_err(), "{text:?}");
    }
}

#[test]
fn a_listen_address_is_tcp_or_a_unix_socket() {
    for text in ["127.0.0.1:8080", "unix:/run/petstore/http.sock", "unix:petstore.sock"] {
        assert_eq!(text.parse::<ListenAddress>().unwrap().to_string(), text);
    }
    for text in ["unix:", "", "UNIX:/run/x", "/run/x"] {
        assert!(text.parse::<ListenAddress>().is_err(), "{text:?}");
    }
}

#[test]
fn an_address_has_a_host_and_a_port() {
    for text in
        ["127.0.0.1:8080", "0.0.0.0:0", "[::1]:0", "[::]:65535", "localhost:8080", "a-_.example:1"]
    {
        assert_eq!(listen_address(text).as_deref(), Ok(text));
    }
    for host in ["", "::1", "[::x]", "127.0.0.300", "a b", "user@host", "http://localhost"] {
        assert!(listen_address(&format!("{host}:80")).is_err(), "{host:?}");
    }
    for host in ["", "8080", "localhost", "127.0.0.1", "[::1]", "::1"] {
        for port in ["", ":", ":65536", ":+1", ":http"] {
            let text = format!("{host}{port}");
            assert!(listen_address(&text).is_err(), "{text:?}");
        }
    }
}

#[test]
fn a_service_url_is_http_or_https_and_ends_in_the_version() {
    for text in [
        "https://pets.example/v1",
        "http://localhost:8080/v1",
        "https://[2001:db8::1]:8443/v1",
        "https://api.example/animals/v1",
    ] {
        assert_eq!(service_url(text).as_deref(), Ok(text));
    }
    let refused = |text: &str| {
        let refusal = service_url(text).unwrap_err();
        assert!(refusal.starts_with("the URL must be https://"), "{text:?}: {refusal}");
    };
    for scheme in ["", "ftp://", "HTTPS://"] {
        refused(&format!("{scheme}pets.example/v1"));
    }
    for host in ["", ":80", "a:b:80", "a:99999", "a:", "[]", "user:secret@a", "zoë.example"] {
        refused(&format!("https://{host}/v1"));
    }
    for path in ["", "/", "/v2", "v1", "/v1/", "/v1//", "/v1?x=1", "/v1#top", "/a b/v1", "/ë/v1"] {
        refused(&format!("https://pets.example{path}"));
    }
}

#[test]
fn an_origin_has_the_form_that_browsers_send() {
    for text in [
        "*",
        "https://app.example",
        "http://localhost:3000",
        "http://[::1]:8080",
        "https://127.0.0.1",
        "http://app.example:443",
        "capacitor://localhost",
    ] {
        assert_eq!(origin(text).as_deref(), Ok(text));
    }
    let refused = |text: &str| {
        let refusal = origin(text).unwrap_err();
        assert!(refusal.starts_with("an origin is"), "{text:?}: {refusal}");
    };
    for text in ["", "null", "app.example", "://app.example", "http://localhost:80"] {
        refused(text);
    }
    for host in ["", "user@app.example", "*.example", "zoë.example", "[app]", "a b", "App.Example"]
    {
        refused(&format!("https://{host}"));
    }
    for rest in ["/", "/path", "?x", ":", ":0", ":65536", ":443"] {
        refused(&format!("https://app.example{rest}"));
    }
}
