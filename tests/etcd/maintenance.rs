//! Maintenance of the nodes while the service works: compaction, defragmentation, alarms.

use std::time::Duration;

use petstore_testing::{Etcd, needs};
use serde_json::Value;

use super::{NODES, nodes, store, trial::Trial};
use crate::support::{
    catalogue::{add, pet, pets},
    server::Launch,
};

const ROUNDS: usize = 5;

/// Compacts all revisions before the current revision.
fn compact(etcd: &Etcd, node: usize) {
    let status = etcd.post(node, "/v3/maintenance/status", "{}").unwrap();
    let status: Value = serde_json::from_str(&status).unwrap();
    let revision = &status["header"]["revision"];
    let request = format!("{{\"revision\":{revision},\"physical\":true}}");
    let done = etcd.post(node, "/v3/kv/compaction", &request);
    // A lagging node may return a revision that is already compacted.
    assert!(
        done.as_ref().map_or_else(|error| error.contains("has been compacted"), |_| true),
        "{done:?}"
    );
}

#[needs(etcd, quiet)]
#[test]
fn compaction_and_defragmentation_under_load_lose_nothing() {
    let what = "compaction and defragmentation";
    let etcd = nodes(None);
    let mut trial = Trial::start(&etcd);
    for round in 0..ROUNDS {
        trial.happens(&format!("{what} {round}"), Duration::from_secs(1), || {
            compact(&etcd, round % NODES);
            for node in 0..NODES {
                etcd.post(node, "/v3/maintenance/defragment", "{}").unwrap();
            }
        });
    }
    trial.ends(what);
}

/// etcd raises this alarm when its data reach the quota. It then refuses writes but serves reads.
#[needs(etcd)]
#[test]
fn an_alarm_refuses_additions_until_it_is_disarmed() {
    let etcd = Etcd::start(1).unwrap();
    let server = Launch::on(&store(&etcd, "zoo")).start();
    let client = server.client();
    let known = add(&client, &pet("Before"));
    let alarm = |action: &str| {
        let request = format!(r#"{{"action":"{action}","memberID":"1","alarm":"NOSPACE"}}"#);
        etcd.post(0, "/v3/maintenance/alarm", &request).unwrap();
    };
    alarm("ACTIVATE");
    client.add(&pet("Refused")).send().refuses(503, "unavailable");
    client.add(&pet("Too")).header("idempotency-key", "k").send().refuses(503, "unavailable");
    assert_eq!(pets(&client.get("/v1/pets").send().is(200)), [known]);
    alarm("DEACTIVATE");
    client.add(&pet("Too")).header("idempotency-key", "k").send().is(201);
    assert_eq!(pets(&client.get("/v1/pets").send().is(200)).len(), 2);
}
