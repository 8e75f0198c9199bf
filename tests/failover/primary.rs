//! The primary is lost, and its synchronous standby takes over.

use std::{thread, time::Duration};

use petstore_testing::{Cluster, needs, network_or_skip};

use super::{outage::Outage, times::CALL, zoo};

/// The time for which commits wait for a standby before the primary is killed.
const IN_DOUBT: Duration = Duration::from_millis(300);

/// Returns a store URL of both servers. The service uses the server that accepts writes.
fn either(primary: &str, standby: &Cluster) -> String {
    format!(
        "postgres://petstore:secret@{primary},127.0.0.1:{}/zoo\
         ?target_session_attrs=read-write&sslmode=prefer&call_timeout=5s",
        standby.port()
    )
}

/// Makes a standby follow its primary at another address.
fn follow(standby: &Cluster, host: &str, port: u16) {
    standby
        .sql(&format!(
            "ALTER SYSTEM SET primary_conninfo = \
             'host={host} port={port} user=petstore application_name=standby connect_timeout=3'"
        ))
        .unwrap();
    standby.sql("SELECT pg_reload_conf()").unwrap();
    let streams = "SELECT count(*) FROM pg_stat_wal_receiver WHERE status = 'streaming'";
    standby.wait_for(streams, "1").unwrap();
}

#[needs(postgres, quiet)]
#[test]
fn the_standby_of_a_killed_primary_takes_over_every_acknowledged_animal() {
    let primary = zoo();
    let standby = primary.standby().unwrap();
    Outage {
        what: "killed primary",
        url: &either(&format!("127.0.0.1:{}", primary.port()), &standby),
        fail: &|| {
            // Open commits wait for the frozen standby. The standby reads them after the kill, so they take effect
            // although no client got an acknowledgement.
            standby.freeze().unwrap();
            thread::sleep(IN_DOUBT);
            primary.kill9().unwrap();
            standby.thaw().unwrap();
        },
        lasts: Duration::ZERO,
        mend: &|| standby.promote().unwrap(),
    }
    .is_survived();
}

/// Simulates a failure of the primary's machine: its address answers no packet, not even with a reset.
#[needs(postgres, ip, quiet)]
#[test]
fn the_standby_of_a_silent_primary_takes_over_every_acknowledged_animal() {
    let Some(network) = network_or_skip(1) else { return };
    let primary = zoo();
    let standby = primary.standby().unwrap();
    primary.stop().unwrap();
    primary.resume_in(&network).unwrap();
    follow(&standby, &network.address(0), primary.port());
    Outage {
        what: "silent primary",
        url: &either(&format!("{}:{}", network.address(0), primary.port()), &standby),
        fail: &|| network.cut(0).unwrap(),
        lasts: CALL + Duration::from_secs(1),
        mend: &|| standby.promote().unwrap(),
    }
    .is_survived();
}
