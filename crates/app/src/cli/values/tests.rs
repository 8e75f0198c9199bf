use std::time::Duration;

use super::{
    ListenAddress, body_size, environment, grace, lifetime, listen_address, memory, number, origin,
    service_url, timeout,
};

#[test]
fn a_timeout_is_1_ms_to_24_hours() {
    let table =
        [("10s", 10_000), ("500ms", 500), ("24h", 86_400_000), ("1m 30s", 90_000), ("1ms", 1)];
    for (text, millis) in table {
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
    assert_eq!(lifetime("90d"), Ok(Duration::from_hours(90 * 24)));
    assert!(lifetime("100y").is_ok());
    assert!(lifetime("0s").is_err());
    let days = "a duration has a unit; write 90d for 90 days";
    assert_eq!(lifetime("90"), Err(days.to_owned()));
    assert!(lifetime("").unwrap_err().contains("like 10s, 500ms or 24h"));
    assert!(lifetime("101y").is_err());
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
    for text in ["", "99999EiB", "65GiB", "-1", "64 monkeys", "KiB"] {
        assert!(body_size(text).is_err() && memory(text).is_err(), "{text:?}");
    }
}

#[test]
fn a_number_is_1_to_a_million() {
    assert_eq!(number("10000").map(std::num::NonZeroUsize::get), Ok(10_000));
    for text in ["", "0", "-1", "1000001", "1e3", "99999999999999999999999"] {
        assert!(number::<std::num::NonZeroU32>(text).is_err(), "{text:?}");
    }
}

#[test]
fn an_environment_has_up_to_64_characters_without_control_characters() {
    for text in ["production", "blue/green 2", "Zürich \"A\""] {
        assert_eq!(environment(text).as_deref(), Ok(text));
    }
    for text in ["", "a\nb", &"x".repeat(65)] {
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
        ["127.0.0.1:8080", "0.0.0.0:0", "[::1]:0", "[::]:65535", "localhost:8080", "a-b.example:1"]
    {
        assert_eq!(listen_address(text).as_deref(), Ok(text));
    }
    for text in [
        "",
        ":",
        ":8080",
        "8080",
        "localhost",
        "localhost:",
        "localhost:65536",
        "localhost:+1",
        "localhost:http",
        "127.0.0.1",
        "127.0.0.300:80",
        "127.0.0.1:99999",
        "::1",
        "::1:8080",
        "[::1]",
        "[::x]:80",
        "a b:80",
        "http://localhost:80",
        "user@host:80",
    ] {
        assert!(listen_address(text).is_err(), "{text:?}");
    }
}

#[test]
fn a_service_url_is_http_or_https_and_ends_in_the_version() {
    for text in [
        "https://pets.example/v1",
        "http://localhost:8080/v1",
        "https://[2001:db8::1]:8443/v1",
        "https://[::1]/v1",
        "https://api.example/animals/v1",
    ] {
        assert_eq!(service_url(text).as_deref(), Ok(text));
    }
    for text in [
        "",
        "pets.example/v1",
        "ftp://pets.example/v1",
        "HTTPS://pets.example/v1",
        "https://user:secret@pets.example/v1",
        "https://pets.example/v1?x=1",
        "https://pets.example/v1#top",
        "https://pets.example/a b/v1",
        "https://zoë.example/v1",
        "https:///v1",
        "https://:80/v1",
        "https://a:b:80/v1",
        "https://a:99999/v1",
        "https://a:/v1",
        "https://[]/v1",
        "https://pets.example",
        "https://pets.example/v2",
        "https://pets.examplev1",
        "https://pets.example/v1/",
        "https://pets.example/v1//",
        "https://pets.example/",
    ] {
        assert!(service_url(text).unwrap_err().starts_with("the URL must be https://"), "{text:?}");
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
    for text in [
        "",
        "null",
        "app.example",
        "https://",
        "https://app.example/",
        "https://app.example/path",
        "https://user@app.example",
        "https://*.example",
        "https://app.example:",
        "https://app.example:0",
        "https://app.example:65536",
        "https://app.example?x",
        "https://zoë.example",
        "https://[app]",
        "://app.example",
        "https://a b",
        "https://App.Example",
        "https://app.example:443",
        "http://localhost:80",
    ] {
        assert!(origin(text).unwrap_err().starts_with("an origin is"), "{text:?}");
    }
}
