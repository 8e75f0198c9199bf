//! The meaning of the server's SQLSTATEs.

use std::{sync::Arc, time::Duration};

use petstore_storage::url::HostPort;
use petstore_testing::{Database, needs};

use super::{StoreFailure, remedy};
use crate::{
    config::PostgresConfig,
    connector::{Connector, Purpose},
};

#[needs(postgres)]
#[tokio::test]
async fn the_sqlstate_decides_on_the_connection_and_on_another_try() {
    let database = Database::create().unwrap();
    let connector = Connector::new(&PostgresConfig::parse(&database.url).unwrap()).unwrap();
    let connection = connector.connect(Purpose::Calls).await.unwrap();
    for (state, breaks, is_conflict, is_refusal) in [
        // A broken connection, a server that stops, a server that starts.
        ("08006", true, false, false),
        ("57P01", true, false, false),
        ("57P03", true, false, false),
        // A primary that has become a standby.
        ("25006", true, false, false),
        // A session that was idle in a transaction for too long.
        ("25P03", true, false, false),
        // A prepared statement that is no longer valid, that is gone, or that refers to dropped tables.
        ("0A000", true, false, false),
        ("26000", true, false, false),
        ("42P01", true, false, false),
        // A serialization failure, a deadlock.
        ("40001", false, true, false),
        ("40P01", false, true, false),
        // A row that breaks a constraint, a trigger that raises, a missing right, a sequence at its end.
        ("23505", false, false, true),
        ("P0001", false, false, true),
        ("42501", false, false, true),
        ("2200H", false, false, true),
        // No connection left, no space left, a held lock, a canceled statement, a failing disk.
        ("53300", false, false, false),
        ("53100", false, false, false),
        ("55P03", false, false, false),
        ("57014", false, false, false),
        ("58030", false, false, false),
        // No transaction, an object that is in use, a damaged index.
        ("25P01", false, false, false),
        ("55006", false, false, false),
        ("XX002", false, false, false),
        // The store is not open; the lock came late.
        ("PSMOV", false, false, false),
        ("PSLAT", false, false, false),
    ] {
        let raise = format!("DO $$ BEGIN RAISE 'as asked' USING ERRCODE = '{state}'; END $$");
        let failure = connection.batch(&raise).await.unwrap_err();
        let blocked = StoreFailure::Blocked(Box::new(failure.clone()), String::new());
        for failure in [failure, blocked] {
            assert_eq!(failure.breaks_connection(), breaks, "{state}");
            assert_eq!(failure.is_conflict(), is_conflict, "{state}");
            assert_eq!([failure.is_refusal(), !failure.is_transient()], [is_refusal; 2], "{state}");
            let own = [failure.sealed().is_some(), failure.is_late()];
            assert_eq!(own, [state == "PSMOV", state == "PSLAT"], "{state}");
        }
    }
    let locked = "; other sessions hold locks on its tables: try again later";
    let crowded = "; wait, or raise max_connections of the server, or lower pool_size";
    for (state, says) in [("55P03", locked), ("40P01", locked), ("53300", crowded)] {
        let raise = format!("DO $$ BEGIN RAISE 'as asked' USING ERRCODE = '{state}'; END $$");
        let failure = connection.batch(&raise).await.unwrap_err();
        let host = HostPort { host: "db".to_owned(), port: 5432 };
        let connecting = StoreFailure::Connect(Arc::new([(host, failure.clone())]));
        assert_eq!([remedy(&failure), remedy(&connecting)], [says; 2], "{state}");
    }
}

#[test]
fn a_store_with_several_hosts_may_open_later_if_one_host_may_answer_later() {
    let host = || HostPort { host: "db".to_owned(), port: 5432 };
    let [silent, refuses] = [StoreFailure::Deadline(Duration::ZERO), StoreFailure::NoPassword];
    for (failures, is_transient, is_answered) in [
        ([&silent, &silent], true, false),
        ([&silent, &refuses], true, true),
        ([&refuses, &silent], true, true),
        ([&refuses, &refuses], false, true),
    ] {
        let failures = failures.map(|failure| (host(), failure.clone()));
        let failure = StoreFailure::Connect(Arc::new(failures));
        assert_eq!(failure.is_transient(), is_transient, "{failure}");
        assert_eq!(remedy(&failure).contains("the password"), is_answered, "{failure}");
    }
}
