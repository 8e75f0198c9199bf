//! The table of URLs.

use std::time::Duration;

use tokio_postgres::config::ChannelBinding;

use super::{InvalidUrl, PostgresConfig, SslMode, parameters::NAMES};

fn parse(url: &str) -> PostgresConfig {
    PostgresConfig::parse(url).unwrap()
}

#[test]
fn every_part_of_the_url_arrives() {
    let config = parse("postgresql://me%40home:p%3A%25@a,b:6543,[::1]:1,%2Frun%2Fpg/my%2Fdb");
    let hosts: Vec<_> = config.address.hosts.iter().map(ToString::to_string).collect();
    assert_eq!(hosts, ["a:5432", "b:6543", "[::1]:1", "/run/pg:5432"]);
    assert!(config.address.hosts[3].is_unix());
    assert_eq!(
        (config.address.user.as_str(), config.address.database.as_str()),
        ("me@home", "my/db")
    );
    assert_eq!(config.address.password.as_deref(), Some("p:%"));
    assert_eq!(parse("postgres://u:a@b@h/d").address.password.as_deref(), Some("a@b"));
    assert_eq!(parse("postgres://u@h/d").address.password, None);
}

#[test]
fn every_parameter_arrives() {
    let plain = parse("postgres://u@h/d").parameters;
    assert_eq!((plain.ssl_mode, plain.pool_size, plain.read_write), (SslMode::Prefer, 16, true));
    let given = parse(
        "postgres://u@h/d?sslmode=require&sslrootcert=/a%20b.pem&connect_timeout=7&\
         statement_timeout=800&call_timeout=9s&pool_timeout=10ms&tcp_user_timeout=1min&\
         pool_size=3&target_session_attrs=any&schema=Zoo%22&pgbouncer=true&\
         application_name=zoo%201&options=-c%20a%3Db&channel_binding=require",
    )
    .parameters;
    assert_eq!(given.ssl_mode, SslMode::VerifyFull);
    assert_eq!(given.root_certificates, Some("/a b.pem".into()));
    assert_eq!(given.connect_timeout, Duration::from_secs(7));
    assert_eq!(given.statement_timeout, Duration::from_millis(800));
    assert_eq!(given.call_timeout, Duration::from_secs(9));
    assert_eq!(given.pool_timeout, Duration::from_millis(10));
    assert_eq!(given.tcp_user_timeout, Duration::from_mins(1));
    assert_eq!((given.pool_size, given.read_write), (3, false));
    assert_eq!(given.schema.as_deref(), Some("Zoo\""));
    assert_eq!((plain.shared_session, given.shared_session), (None, Some(true)));
    assert_eq!((plain.application_name.as_str(), plain.options), ("petstore", None));
    assert_eq!(
        (given.application_name.as_str(), given.options.as_deref()),
        ("zoo 1", Some("-c a=b"))
    );
    assert_eq!(given.channel_binding, ChannelBinding::Require);
    assert_eq!(parse("postgres://u@h/d?sslmode=verify-ca").parameters.ssl_mode, SslMode::VerifyCa);
}

#[test]
fn the_password_is_never_shown() {
    let config = parse("postgres://me:hush%20hush@a:1,b/d?schema=zoo");
    assert_eq!(config.to_string(), "postgres://me:…@a:1,b:5432/d?schema=zoo");
    assert!(!format!("{config:?}").contains("hush"));
}

#[test]
fn anything_else_is_refused_in_one_line() {
    let unknown = |position| InvalidUrl::UnknownParameter { position, known: &NAMES };
    let value = |name, allowed| InvalidUrl::Value { name, allowed };
    let time = "it is a time from 1ms to 1h such as 3s or 500ms";
    let table = [
        ("postgres:", InvalidUrl::Form),
        ("postgres:/u@h/d", InvalidUrl::Form),
        ("postgres://h/d", InvalidUrl::NoUser),
        ("postgres://@h/d", InvalidUrl::NoUser),
        ("postgres://:p@h/d", InvalidUrl::NoUser),
        ("postgres://u@/d", InvalidUrl::NoHost),
        ("postgres://u@a,,b/d", InvalidUrl::NoHost),
        ("postgres://u@h", InvalidUrl::NoDatabase),
        ("postgres://u@h/", InvalidUrl::NoDatabase),
        ("postgres://u@h:0/d", InvalidUrl::Port),
        ("postgres://u@h:x/d", InvalidUrl::Port),
        ("postgres://u@h:65536/d", InvalidUrl::Port),
        ("postgres://u:hush%zz@h/d", InvalidUrl::Encoding("password")),
        ("postgres://u:hush%@h/d", InvalidUrl::Encoding("password")),
        ("postgres://u:a@hush:b/c?d@h/d", InvalidUrl::Encoding("password")),
        ("postgres://u:a@b/c?hush@h/d", InvalidUrl::Encoding("password")),
        ("postgres://u:a@b/c?sslmode=hush@h/d", InvalidUrl::Encoding("password")),
        ("postgres://u:a?hush@h/d", InvalidUrl::Encoding("password")),
        ("postgres://u%ff@h/d", InvalidUrl::Encoding("user")),
        ("postgres://u;password=hush@h/d", InvalidUrl::Encoding("user")),
        ("postgres://u@h;password=hush/d", InvalidUrl::Encoding("host")),
        ("postgres://u@h/d;password=hush", InvalidUrl::Encoding("database")),
        ("postgres://u@h/d&password=hush", InvalidUrl::Encoding("database")),
        ("postgres://u@h/d:hush", InvalidUrl::Encoding("database")),
        ("postgres://u@h/d?schema=s;password=hush", InvalidUrl::Encoding("schema")),
        ("postgres://u@h/d%00", InvalidUrl::Encoding("database")),
        ("postgres://u@h/d?", unknown(1)),
        ("postgres://u@h/d?sslmode=disable&SSLMODE=disable", unknown(2)),
        ("postgres://u@h/d?schema=a&schema=b", InvalidUrl::RepeatedParameter("schema")),
        (
            "postgres://u@h/d?channel_binding=on",
            value("channel_binding", "it is disable, prefer or require"),
        ),
        ("postgres://u@h/d?pgbouncer=yes", value("pgbouncer", "it is true or false")),
        ("postgres://u@h/d?connect_timeout=", value("connect_timeout", time)),
        ("postgres://u@h/d?connect_timeout=0", value("connect_timeout", time)),
        ("postgres://u@h/d?call_timeout=-1s", value("call_timeout", time)),
        ("postgres://u@h/d?call_timeout=61min", value("call_timeout", time)),
        (
            "postgres://u@h/d?sslmode=allow",
            value("sslmode", "it is disable, prefer, verify-ca, require or verify-full"),
        ),
        (
            "postgres://u@h/d?pool_size=0",
            value("pool_size", "it is a number of connections from 1 to 1000"),
        ),
        (
            "postgres://u@h/d?schema=pg_temp",
            value("schema", "it is a name of 1 to 63 bytes that does not begin with pg_"),
        ),
    ];
    for (url, refusal) in table {
        assert!(!refusal.to_string().contains('\n') && !refusal.to_string().contains("hush"));
        assert_eq!(PostgresConfig::parse(url), Err(refusal), "{url}");
    }
}

#[test]
fn a_refused_parameter_names_those_that_exist() {
    let refusal = PostgresConfig::parse("postgres://u@h/d?ssl=on").unwrap_err().to_string();
    assert_eq!(
        refusal,
        "parameter 1 behind the ? is none of sslmode, sslrootcert, connect_timeout, \
         statement_timeout, call_timeout, pool_timeout, tcp_user_timeout, pool_size, \
         target_session_attrs, schema, pgbouncer, application_name, options, channel_binding; user \
         and password are written in front of the host"
    );
}
