//! The choice of a host, and the settings of sessions on a real server.

use std::time::{Duration, Instant};

use petstore_testing::{Database, free_port, needs};
use tokio::{
    io,
    net::{TcpListener, TcpStream},
    time,
};

use tokio_postgres::config::{ChannelBinding, SslMode, TargetSessionAttrs};

use super::{Connector, Purpose, driver_config};
use crate::{config::PostgresConfig, connection::READ_COMMITTED};

#[test]
fn the_driver_has_the_parameters_of_the_url() {
    let url = "postgres://u:p@db.example/d?connect_timeout=7s&tcp_user_timeout=9s\
               &target_session_attrs=any&sslmode=verify-full&channel_binding=require";
    let config = PostgresConfig::parse(url).unwrap();
    let driver = driver_config(&config, &config.hosts[0]);
    assert_eq!(driver.get_connect_timeout(), Some(&Duration::from_secs(7)));
    assert_eq!(driver.get_tcp_user_timeout(), Some(&Duration::from_secs(9)));
    assert_eq!(driver.get_target_session_attrs(), TargetSessionAttrs::Any);
    assert_eq!(driver.get_ssl_mode(), SslMode::Require);
    assert_eq!(driver.get_channel_binding(), ChannelBinding::Require);
}

#[needs(postgres)]
#[tokio::test]
async fn a_session_has_the_name_and_the_options_of_the_url_and_is_not_shared() {
    let database = Database::create().unwrap();
    let url = format!("{}?application_name=zoo&options=-c%20work_mem%3D123kB", database.url);
    let connector = Connector::new(&PostgresConfig::parse(&url).unwrap()).unwrap();
    for (setting, value) in [("application_name", "zoo"), ("work_mem", "123kB")] {
        assert_eq!(shown(&connector, Purpose::Calls, setting).await, value, "{setting}");
    }
    let connection = connector.connect(Purpose::Calls).await.unwrap();
    assert!(connection.prepare("SELECT 1").await.unwrap().is_some());
}

/// Returns the value of `setting` in a session for `purpose`.
async fn shown(connector: &Connector, purpose: Purpose, setting: &str) -> String {
    let connection = connector.connect(purpose).await.unwrap();
    connection.begin(READ_COMMITTED).await.unwrap();
    let sql = "SELECT current_setting($1)";
    connection.query(sql, &[&setting]).await.unwrap()[0].get(0)
}

#[needs(postgres)]
#[tokio::test]
async fn a_transaction_has_the_time_limits_of_its_purpose_in_own_and_shared_sessions() {
    let database = Database::create().unwrap();
    for is_shared in [false, true] {
        let url = format!("{}?pgbouncer={is_shared}", database.url);
        let connector = Connector::new(&PostgresConfig::parse(&url).unwrap()).unwrap();
        for (purpose, setting, value) in [
            (Purpose::Calls, "statement_timeout", "4s"),
            (Purpose::Calls, "idle_in_transaction_session_timeout", "2s"),
            (Purpose::Archive, "statement_timeout", "2min"),
            (Purpose::Archive, "idle_in_transaction_session_timeout", "0"),
            (Purpose::Upgrade, "statement_timeout", "1h"),
        ] {
            let found = shown(&connector, purpose, setting).await;
            assert_eq!(found, value, "{purpose:?} {setting}, shared {is_shared}");
        }
    }
}

#[needs(postgres)]
#[tokio::test]
async fn the_server_gives_up_a_vanished_client_soon() {
    let database = Database::create().unwrap();
    let connector = Connector::new(&PostgresConfig::parse(&database.url).unwrap()).unwrap();
    for (purpose, setting, value) in [
        (Purpose::Calls, "tcp_keepalives_idle", "10"),
        (Purpose::Archive, "tcp_keepalives_idle", "10"),
        (Purpose::Archive, "tcp_keepalives_interval", "5"),
        (Purpose::Archive, "tcp_keepalives_count", "4"),
    ] {
        assert_eq!(shown(&connector, purpose, setting).await, value, "{purpose:?} {setting}");
    }
}

#[needs(postgres)]
#[tokio::test]
async fn short_statements_are_planned_once_for_a_large_table_and_are_not_compiled() {
    let database = Database::create().unwrap();
    let connector = Connector::new(&PostgresConfig::parse(&database.url).unwrap()).unwrap();
    for setting in ["jit", "enable_seqscan", "enable_hashjoin", "enable_mergejoin"] {
        assert_eq!(shown(&connector, Purpose::Calls, setting).await, "off", "{setting}");
        assert_eq!(shown(&connector, Purpose::Archive, setting).await, "on", "{setting}");
    }
    for (purpose, mode) in [(Purpose::Calls, "force_generic_plan"), (Purpose::Archive, "auto")] {
        assert_eq!(shown(&connector, purpose, "plan_cache_mode").await, mode);
    }
}

#[needs(postgres)]
#[tokio::test]
async fn synchronous_commit_is_turned_on_if_the_role_has_it_off() {
    let database = Database::create().unwrap();
    let name = database.url.rsplit_once('/').unwrap().1;
    for (given, expected) in [("off", "on"), ("remote_apply", "remote_apply")] {
        database.sql(&format!("ALTER DATABASE {name} SET synchronous_commit = {given}")).unwrap();
        let connector = Connector::new(&PostgresConfig::parse(&database.url).unwrap()).unwrap();
        assert_eq!(shown(&connector, Purpose::Calls, "synchronous_commit").await, expected);
    }
}

#[needs(postgres)]
#[tokio::test]
async fn a_recovered_host_is_found_while_another_host_is_silent() {
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
        let (mut client, _) = listener.accept().await.unwrap();
        let mut server = TcpStream::connect(&server).await.unwrap();
        let _ = io::copy_bidirectional(&mut client, &mut server).await;
    });
    let start = Instant::now();
    connector.connect(Purpose::Calls).await.unwrap();
    assert!(
        start.elapsed() < Duration::from_secs(50),
        "the host was found only after the other one had timed out"
    );
    comes_back.abort();
}
