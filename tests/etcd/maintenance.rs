//! Maintenance of the nodes while the service works: compaction, defragmentation, alarms.

use std::time::Duration;

use petstore_testing::{Etcd, needs};
use serde_json::Value;

use super::{NODES, nodes, store, trial::Trial};
use crate::{
    moving::{
        animals::many,
        commands::{exported, feed},
    },
    support::{
        catalogue::{add, pet, pets},
        command::{ended, lines, petstore},
        server::Launch,
        store::Store,
    },
};

const PETS: usize = 12_000;
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

/// Returns a store with [`PETS`] animals.
fn filled(etcd: &Etcd) -> Store {
    let store = store(etcd, "zoo");
    feed(&["import", "--create", "--store", &store.url], &many(PETS)).succeeds();
    store
}

/// etcd raises this alarm when its data reach the quota. It then refuses writes but serves reads.
#[needs(etcd)]
#[test]
fn an_alarm_refuses_additions_until_it_is_disarmed() {
    let etcd = nodes(None);
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

/// The output pipe of the export is full, so the export has read only a part of the store when the compaction starts.
#[needs(etcd, time)]
#[test]
fn an_export_across_a_compaction_is_complete_or_fails() {
    let etcd = nodes(None);
    let store = filled(&etcd);
    let server = Launch::on(&store).start();
    let mut export = petstore(&["export", "--store", &store.url, "--format", "ndjson"]).spawn();
    let mut out = lines(export.stdout.take().unwrap());
    assert!(out.next().is_some());
    add(&server.client(), &pet("Later"));
    compact(&etcd, 0);
    let rest = out.filter(|line| !line.is_empty()).count();
    let ended = ended(export);
    match ended.code {
        Some(0) => assert_eq!(1 + rest, PETS),
        _ => assert!(ended.stderr.contains("compact"), "{ended:?}"),
    }
    assert_eq!(exported(&store.url, "ndjson").lines().count(), PETS + 1);
}
