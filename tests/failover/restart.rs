//! The only server stops and comes back.

use std::time::Duration;

use petstore_testing::{Cluster, needs};

use super::{outage::Outage, times::CALL, zoo};

type Step = fn(&Cluster) -> Result<(), String>;

#[track_caller]
fn survives(what: &str, fail: Step, lasts: Duration, mend: Step) {
    let cluster = zoo();
    Outage {
        what,
        url: &cluster.url("zoo"),
        fail: &|| fail(&cluster).unwrap(),
        lasts,
        mend: &|| mend(&cluster).unwrap(),
    }
    .is_survived();
}

#[needs(postgres, quiet)]
#[test]
fn an_immediate_restart_loses_nothing() {
    survives("immediate restart", Cluster::stop_at_once, Duration::ZERO, Cluster::resume);
}

#[needs(postgres, quiet)]
#[test]
fn a_frozen_server_is_given_up_and_found_again() {
    survives("frozen server", Cluster::freeze, CALL + Duration::from_secs(1), Cluster::thaw);
}
