//! The network loses every packet between the service and its database.

use std::time::Duration;

use petstore_testing::{needs, network_or_skip};

use super::{outage::Outage, zoo};

/// Longer than the sum of two timeouts: of a call on an open connection, and of a new connection.
const PARTITION: Duration = Duration::from_secs(11);

#[needs(postgres, ip, quiet)]
#[test]
fn a_partition_fails_calls_within_their_deadline_and_heals() {
    let Some(network) = network_or_skip(1) else { return };
    let cluster = zoo();
    cluster.stop().unwrap();
    cluster.resume_in(&network).unwrap();
    Outage {
        what: "partition",
        url: &network.url(&cluster, "zoo"),
        fail: &|| network.cut(0).unwrap(),
        lasts: PARTITION,
        mend: &|| network.heal(0).unwrap(),
    }
    .is_survived();
}
