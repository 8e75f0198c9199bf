//! URLs and their parsed configurations.

use std::time::Duration;

use super::EtcdConfig;

fn parse(url: &str) -> EtcdConfig {
    EtcdConfig::parse(url).unwrap()
}

#[test]
fn every_part_of_the_url_arrives() {
    let config = parse("etcd://me%40home:p%3A%25@a,b:6543,[::1]:1/zoo");
    let hosts: Vec<_> = config.hosts.iter().map(ToString::to_string).collect();
    assert_eq!(hosts, ["a:2379", "b:6543", "[::1]:1"]);
    assert_eq!(config.credential, Some(("me@home".to_owned(), "p:%".to_owned())));
    assert_eq!(config.prefix, "zoo/");
    assert_eq!(parse("etcd://h/d").credential, None);
    let longest = "aZ09._-".repeat(9);
    assert_eq!(parse(&format!("etcd://h/{longest}")).prefix, longest + "/");
}

#[test]
fn every_parameter_arrives() {
    let plain = parse("etcd://h/d");
    assert!(!plain.is_encrypted);
    let timeouts = [plain.connect_timeout, plain.request_timeout, plain.call_timeout];
    assert_eq!(timeouts.map(|timeout| timeout.as_millis()), [1000, 1000, 5000]);
    let given = parse(
        "etcd://h/d?sslmode=verify-full&sslrootcert=/a%20b.pem&sslcert=/c.pem&sslkey=/k.pem&\
         connect_timeout=7&request_timeout=800&call_timeout=9000",
    );
    assert!(given.is_encrypted && parse("etcd://h/d?sslmode=require").is_encrypted);
    assert_eq!(given.root_certificates, Some("/a b.pem".into()));
    assert_eq!((given.certificate, given.key), (Some("/c.pem".into()), Some("/k.pem".into())));
    assert_eq!(given.connect_timeout, Duration::from_secs(7));
    assert_eq!(given.request_timeout, Duration::from_millis(800));
    assert_eq!(given.call_timeout, Duration::from_secs(9));
}

#[test]
fn the_password_is_never_shown() {
    let config = parse("etcd://me:hush%20hush@a:1,b/zoo?call_timeout=3s");
    assert_eq!(config.to_string(), "etcd://me:…@a:1,b:2379/zoo");
    assert!(!format!("{config:?}").contains("hush"));
}

#[test]
fn a_wrong_url_is_refused_in_one_line() {
    let together = "user and password belong together";
    let prefix = "the prefix behind the host is 1 to 63 letters";
    let long = format!("etcd://h/{}", "x".repeat(64));
    let table = [
        ("etcd:/h/d", "write etcd://[USER:PASSWORD@]HOST[:PORT]"),
        ("etcd://hush@h/d", together),
        ("etcd://:hush@h/d", together),
        ("etcd://u:@h/d", together),
        ("etcd://h", prefix),
        ("etcd://h/a/hush", prefix),
        ("etcd://h/d%20hush", prefix),
        (&long, prefix),
        ("etcd://h/d?sslmode=disable&SSLMODE=disable", "parameter 2 behind the ? is none of"),
        (
            "etcd://h/d?sslrootcert=/hush",
            "sslrootcert, sslcert and sslkey need sslmode=verify-full",
        ),
        ("etcd://h/d?sslmode=verify-full&sslcert=/hush", "sslcert and sslkey belong together"),
    ];
    for (url, expected) in table {
        let refusal = EtcdConfig::parse(url).unwrap_err().to_string();
        assert!(refusal.starts_with(expected), "{url}: {refusal}");
        assert!(!refusal.contains('\n') && !refusal.contains("hush"), "{refusal}");
    }
}

#[test]
fn the_error_for_a_wrong_value_names_the_allowed_values() {
    let time = "use a time from 1ms to 60min such as 3s or 500ms";
    for (pair, allowed) in [
        ("sslmode=prefer", "use disable or verify-full"),
        ("sslkey=", "use the path of a PEM file"),
        ("connect_timeout=0", time),
        ("request_timeout=", time),
        ("call_timeout=61min", time),
    ] {
        let refusal = EtcdConfig::parse(&format!("etcd://h/d?{pair}")).unwrap_err();
        let name = pair.split_once('=').unwrap().0;
        assert_eq!(refusal.to_string(), format!("the value of {name} is not allowed: {allowed}"));
    }
}
