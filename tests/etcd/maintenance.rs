//! Maintenance of the nodes while the service works: compaction and defragmentation.

use std::time::Duration;

use petstore_testing::{Etcd, needs};
use serde_json::Value;

use super::{NODES, nodes, trial::Trial};

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
