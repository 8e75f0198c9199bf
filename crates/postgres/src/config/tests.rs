//! URLs and their parsed configurations.

use std::time::Duration;

use tokio_postgres::config::{ChannelBinding, SslMode, TargetSessionAttrs};

use super::PostgresConfig;

fn parse(url: &str) -> PostgresConfig {
    PostgresConfig::parse(url).unwrap()
}

#[test]
fn every_part_of_the_url_arrives() {
    let config = parse("postgresql://me%40home:p%3A%25@a,b:6543,[::1]:1,%2Frun%2Fpg/my%2Fdb");
    let hosts: Vec<_> = config.hosts.iter().map(ToString::to_string).collect();
    assert_eq!(hosts, ["a:5432", "b:6543", "[::1]:1", "/run/pg:5432"]);
    assert_eq!(
        (config.driver.get_user(), config.driver.get_dbname()),
        (Some("me@home"), Some("my/db"))
    );
    assert_eq!(config.driver.get_password(), Some(&b"p:%"[..]));
    assert_eq!(parse("postgres://u:a@b@h/d").driver.get_password(), Some(&b"a@b"[..]));
    assert_eq!(parse("postgres://u@h/d").driver.get_password(), None);
}

#[test]
fn every_parameter_arrives() {
    let plain = parse("postgres://u@h/d");
    let security = |config: &PostgresConfig| (config.driver.get_ssl_mode(), config.allows_any_host);
    assert_eq!((security(&plain), plain.pool_size), ((SslMode::Prefer, false), 16));
    let timeouts =
        [plain.connect_timeout, plain.statement_timeout, plain.call_timeout, plain.pool_timeout];
    assert_eq!(timeouts.map(|timeout| timeout.as_secs()), [3, 4, 5, 1]);
    assert_eq!(plain.driver.get_keepalives_idle(), Duration::from_secs(10));
    assert_eq!(plain.driver.get_tcp_user_timeout(), Some(&Duration::from_secs(5)));
    let given = parse(
        "postgres://u@h/d?sslmode=require&sslrootcert=/a%20b.pem&connect_timeout=7&\
         statement_timeout=800&call_timeout=9000&pool_timeout=10&tcp_user_timeout=60000&\
         pool_size=3&target_session_attrs=any&schema=Zoo%22&pgbouncer=true&\
         application_name=zoo%201&options=-c%20a%3Db&channel_binding=require",
    );
    assert_eq!(security(&given), (SslMode::Require, false));
    assert_eq!(given.root_certificates, Some("/a b.pem".into()));
    assert_eq!(given.connect_timeout, Duration::from_secs(7));
    assert_eq!(given.statement_timeout, Duration::from_millis(800));
    assert_eq!(given.call_timeout, Duration::from_secs(9));
    assert_eq!(given.pool_timeout, Duration::from_millis(10));
    let (plain_driver, driver) = (&plain.driver, &given.driver);
    assert_eq!(driver.get_tcp_user_timeout(), Some(&Duration::from_mins(1)));
    assert_eq!(plain_driver.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
    assert_eq!((given.pool_size, driver.get_target_session_attrs()), (3, TargetSessionAttrs::Any));
    assert_eq!(given.schema.as_deref(), Some("Zoo\""));
    assert_eq!((plain.shared_session, given.shared_session), (None, Some(true)));
    assert_eq!(
        (plain_driver.get_application_name(), plain_driver.get_options()),
        (Some("petstore"), None)
    );
    assert_eq!(
        (driver.get_application_name(), driver.get_options()),
        (Some("zoo 1"), Some("-c a=b"))
    );
    assert_eq!(driver.get_channel_binding(), ChannelBinding::Require);
    let other = parse("postgres://u@h/d?sslmode=verify-ca&target_session_attrs=read-write");
    assert_eq!(security(&other), (SslMode::Require, true));
    assert_eq!(other.driver.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
}

#[test]
fn the_password_is_never_shown() {
    let config = parse("postgres://me:hush%20hush@a:1,b/d?schema=zoo");
    assert_eq!(config.to_string(), "postgres://me:…@a:1,b:5432/d?schema=zoo");
    assert!(!format!("{config:?}").contains("hush"));
}

#[test]
fn a_wrong_url_is_refused_in_one_line() {
    let [password, database, schema] = ["password", "database", "schema"]
        .map(|part| format!("the {part} is not properly percent-encoded; write % as %25"));
    let table: &[(&str, &str)] = &[
        ("postgres:", "write postgres://USER:PASSWORD@HOST[:PORT]"),
        ("postgres://h/d", "no user is named"),
        ("postgres://@h/d", "no user is named"),
        ("postgres://:p@h/d", "no user is named"),
        ("postgres://u@h/", "no database is named"),
        ("postgres://u:a@hush:b/c?d@h/d", &password),
        ("postgres://u@h/d;password=hush", &database),
        ("postgres://u@h/d:hush", &database),
        ("postgres://u@h/d?schema=s;password=hush", &schema),
        ("postgres://u@h/d?ssl=on", "parameter 1 behind the ? is none of sslmode, sslrootcert, "),
        (
            "postgres://u@a,b/d?target_session_attrs=any",
            "target_session_attrs=any takes one host: reads of several servers would go back",
        ),
    ];
    for &(url, expected) in table {
        let refusal = PostgresConfig::parse(url).unwrap_err().to_string();
        assert!(refusal.starts_with(expected), "{url}: {refusal}");
        assert!(!refusal.contains('\n') && !refusal.contains("hush"), "{refusal}");
    }
}

#[test]
fn the_error_for_a_wrong_value_names_the_allowed_values() {
    let time = "use a time from 1ms to 60min such as 3s or 500ms";
    let [longest, longer] = ["s".repeat(63), "ß".repeat(32)].map(|name| format!("schema={name}"));
    for allowed in ["pool_size=1", "pool_size=1000", &longest] {
        parse(&format!("postgres://u@h/d?{allowed}"));
    }
    for (pair, allowed) in [
        ("channel_binding=on", "use disable, prefer or require"),
        ("pgbouncer=yes", "use true or false"),
        ("sslrootcert=", "use the path of a PEM file"),
        ("target_session_attrs=standby", "use read-write or any"),
        ("connect_timeout=0", time),
        ("call_timeout=61min", time),
        ("sslmode=allow", "use disable, prefer, verify-ca, require or verify-full"),
        ("pool_size=0", "use a number of connections from 1 to 1000"),
        ("pool_size=1001", "use a number of connections from 1 to 1000"),
        (&longer, "use a name of 1 to 63 bytes that does not begin with pg_"),
        ("schema=pg_temp", "use a name of 1 to 63 bytes that does not begin with pg_"),
    ] {
        let refusal = PostgresConfig::parse(&format!("postgres://u@h/d?{pair}")).unwrap_err();
        let name = pair.split_once('=').unwrap().0;
        let expected = format!("the value of {name} is not allowed: {allowed}");
        assert_eq!(refusal.to_string(), expected);
    }
}
