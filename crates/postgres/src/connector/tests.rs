//! The choice of a host, and the settings of sessions on a real server.

use std::time::{Duration, Instant};

use petstore_testing::{Database, free_port, needs};
use tokio::{
    io::{self, AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time,
};
use tokio_postgres::config::SslMode;

use super::{
    Connector,
    Purpose::{self, Archive, Calls, Upgrade},
    driver_config,
};
use crate::{config::PostgresConfig, connection::READ_COMMITTED};

/// Returns the value of `setting` in a session for `purpose`.
async fn shown(connector: &Connector, purpose: Purpose, setting: &str) -> String {
    let connection = connector.connect(purpose).await.unwrap();
    connection.begin(READ_COMMITTED).await.unwrap();
    let sql = "SELECT current_setting($1)";
    connection.query(sql, &[&setting]).await.unwrap()[0].get(0)
}

#[needs(postgres)]
#[tokio::test]
async fn a_session_has_the_settings_of_its_purpose_and_of_the_url() {
    let database = Database::create().unwrap();
    let connector = |query: &str| {
        let url = format!("{}?{query}", database.url);
        Connector::new(&PostgresConfig::parse(&url).unwrap()).unwrap()
    };
    let options = "-c%20work_mem%3D123kB%20-c%20default_transaction_isolation%3Dserializable";
    let own = connector(&format!("application_name=zoo&options={options}"));
    for (setting, calls, archive) in [
        ("application_name", "zoo", "zoo"),
        ("work_mem", "123kB", "123kB"),
        ("transaction_isolation", "read committed", "read committed"),
        // The server gives up a client that has vanished.
        ("tcp_keepalives_idle", "10", "10"),
        ("tcp_keepalives_interval", "5", "5"),
        ("tcp_keepalives_count", "4", "4"),
        // Short statements are planned once, for a large table, and are not compiled.
        ("jit", "off", "on"),
        ("enable_seqscan", "off", "on"),
        ("enable_hashjoin", "off", "on"),
        ("enable_mergejoin", "off", "on"),
        ("plan_cache_mode", "force_generic_plan", "auto"),
    ] {
        let found = [shown(&own, Calls, setting).await, shown(&own, Archive, setting).await];
        assert_eq!(found, [calls, archive], "{setting}");
    }
    let connection = own.connect(Calls).await.unwrap();
    assert!(connection.prepare("SELECT 1").await.unwrap().is_some());

    let (statement, idle) = ("statement_timeout", "idle_in_transaction_session_timeout");
    for (query, idle_limit) in
        [("pgbouncer=false", "2s"), ("pgbouncer=true", "2s"), ("call_timeout=700ms", "700ms")]
    {
        for (purpose, setting, value) in [
            (Calls, statement, "4s"),
            (Calls, idle, idle_limit),
            (Archive, statement, "2min"),
            (Archive, idle, "0"),
            (Upgrade, statement, "1h"),
        ] {
            let found = shown(&connector(query), purpose, setting).await;
            assert_eq!(found, value, "{purpose:?} {setting} {query}");
        }
    }

    let name = database.url.rsplit_once('/').unwrap().1;
    for (given, expected) in [("off", "on"), ("remote_apply", "remote_apply")] {
        database.sql(&format!("ALTER DATABASE {name} SET synchronous_commit = {given}")).unwrap();
        let found = shown(&connector("pgbouncer=false"), Calls, "synchronous_commit").await;
        assert_eq!(found, expected);
    }
}

/// The server refuses every client with one state.
#[tokio::test]
async fn a_host_is_asked_again_without_our_setting_if_it_may_have_refused_the_setting() {
    for (state, expected) in [
        ("08P01", &[true, false][..]),
        ("0A000", &[true, false]),
        ("42704", &[true, false]),
        ("28000", &[true]),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("postgres://zoo@{}/zoo?sslmode=disable", listener.local_addr().unwrap());
        let connector = Connector::new(&PostgresConfig::parse(&url).unwrap()).unwrap();
        let (connecting, mut asked) = (connector.connect(Calls), Vec::new());
        let refusing = async {
            loop {
                let (mut client, _) = listener.accept().await.unwrap();
                let mut start = vec![0; 1000];
                let length = client.read(&mut start).await.unwrap();
                asked.push(String::from_utf8_lossy(&start[..length]).contains("petstore.conn"));
                let reason = format!("SFATAL\0C{state}\0Mno\0\0");
                client.write_u8(b'E').await.unwrap();
                client.write_u32(u32::try_from(reason.len()).unwrap() + 4).await.unwrap();
                client.write_all(reason.as_bytes()).await.unwrap();
            }
        };
        let refused = tokio::select! { refused = connecting => refused, () = refusing => break };
        assert!(refused.is_err());
        assert_eq!(asked, expected, "{state}");
    }
}

#[test]
fn a_unix_socket_is_never_encrypted() {
    let config = PostgresConfig::parse("postgres://u@db,%2Frun/d?sslmode=require").unwrap();
    let modes = config.hosts.iter().map(|host| driver_config(&config, host).get_ssl_mode());
    assert_eq!(modes.collect::<Vec<_>>(), [SslMode::Require, SslMode::Disable]);
}

#[needs(postgres)]
#[tokio::test]
async fn a_recovered_host_is_found_beside_a_silent_host_and_is_tried_first_from_then_on() {
    let database = Database::create().unwrap();
    let (credential, place) = database.url.split_once('@').unwrap();
    let (server, name) = place.split_once('/').unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let late = format!("127.0.0.1:{}", free_port().unwrap());
    let silent_address = silent.local_addr().unwrap();
    let url = format!("{credential}@{silent_address},{late}/{name}?connect_timeout=60s");
    let connector = Connector::new(&PostgresConfig::parse(&url).unwrap()).unwrap();
    let server = server.to_owned();
    let comes_back = tokio::spawn(async move {
        // The host has refused by now.
        time::sleep(Duration::from_secs(1)).await;
        let listener = TcpListener::bind(&late).await.unwrap();
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            let mut server = TcpStream::connect(&server).await.unwrap();
            let _ = io::copy_bidirectional(&mut client, &mut server).await;
        }
    });
    let start = Instant::now();
    drop(connector.connect(Calls).await.unwrap());
    assert!(start.elapsed() < Duration::from_secs(50), "the silent host delayed the other one");
    let tried = || time::timeout(Duration::ZERO, silent.accept());
    assert!(tried().await.is_ok(), "the silent host was not tried");
    connector.connect(Calls).await.unwrap();
    assert!(tried().await.is_err(), "the silent host was tried again");
    comes_back.abort();
}
