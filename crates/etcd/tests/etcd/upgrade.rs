//! The upgrade of a store of release 1.2.0, and the head that release 1.2.0 reads afterwards.

use std::{
    fs, iter,
    path::Path,
    sync::{
        Arc, Once,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use petstore_domain::{
    Archive as _, HighestIds, KeyId, PetId, PetRepository as _, RecordPosition, Timestamp,
};
use petstore_etcd::{EtcdConfig, EtcdStore};
use petstore_storage::{Upgrade, UpgradeMode};
use petstore_testing::{Etcd, needs};
use serde_json::Value;
use tokio::{runtime::Handle, task::JoinSet};

use crate::support::{add, open, page, refusal, url};

/// Puts the entries of `tests/upgrades/1.2.0`, under the prefix `zoo`.
fn restore(etcd: &Etcd) {
    let path = "../../tests/upgrades/1.2.0/etcd.store";
    let store = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    for line in store.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        let [key, value] = ["key", "value"].map(|name| entry[name].as_str().unwrap());
        etcd.put(&format!("zoo/{key}"), value).unwrap();
    }
}

async fn upgrade(etcd: &Etcd, mode: UpgradeMode) -> Result<Option<Upgrade>, String> {
    let config = EtcdConfig::parse(&url(etcd)).unwrap();
    EtcdStore::upgrade(&config, mode).await.map_err(|error| error.to_string())
}

/// Upgrades the store. Returns the version before, and the versions of the steps.
async fn upgraded(etcd: &Etcd, mode: UpgradeMode) -> (i64, Vec<i64>) {
    let upgrade = upgrade(etcd, mode).await.unwrap().unwrap();
    assert!(upgrade.steps.iter().all(|step| !step.is_compatible()), "{upgrade:?}");
    (upgrade.from, upgrade.steps.iter().map(|step| step.version).collect())
}

/// Asserts that the store has all rows that 1.2.0 wrote. `tests/upgrades` compares their values.
async fn has_everything(store: &EtcdStore) {
    assert_eq!(page(store).await.len(), 15);
    let mut snapshot = store.snapshot().await.unwrap();
    let counts = snapshot.counts().await.unwrap();
    assert_eq!((counts.pets, counts.keys, counts.records), (15, 7, 4));
    let highest = HighestIds { pet: Some(PetId(1_000_013)), key: Some(KeyId(7)) };
    assert_eq!(snapshot.highest_ids().await.unwrap(), highest);
    let records = snapshot.records(None, 1000).await.unwrap();
    let of: Vec<_> = records.iter().map(|record| record.pet.0).collect();
    assert_eq!(of, [1_000_010, 1_000_011, 1_000_012, 1_000_013]);
    let after = Some(RecordPosition::end_of(PetId(1_000_011)));
    assert_eq!(snapshot.records(after, 1).await.unwrap(), records[2..3]);
}

#[needs(etcd)]
#[tokio::test]
async fn a_store_of_1_2_0_is_upgraded_and_has_everything() {
    let etcd = Etcd::start(1).unwrap();
    assert_eq!(upgrade(&etcd, UpgradeMode::Run).await, Ok(None));
    restore(&etcd);
    let before = etcd.entries("zoo/").unwrap();
    let config = EtcdConfig::parse(&url(&etcd)).unwrap();
    let identity = config.identity().await;
    let old = refusal(&url(&etcd)).await;
    assert!(old.contains("its schema is version 1"), "{old}");
    assert_eq!(upgraded(&etcd, UpgradeMode::DryRun).await, (1, vec![2]));
    assert_eq!(etcd.entries("zoo/").unwrap(), before, "a dry run changes nothing");
    assert_eq!(upgraded(&etcd, UpgradeMode::Run).await, (1, vec![2]));
    assert_eq!(upgraded(&etcd, UpgradeMode::Run).await, (2, vec![]));
    assert!(identity.is_some() && config.identity().await == identity);
    let cluster = etcd.status().unwrap()["header"]["cluster_id"].clone();
    assert!(identity.unwrap().starts_with(cluster.as_str().unwrap()));
    let store = open(&url(&etcd)).await;
    has_everything(&store).await;
    assert_eq!(add(&store).await.id, PetId(1_000_014));
    let purged = store.purge_expired(Timestamp(i64::MAX), 100).await.unwrap();
    assert_eq!((purged.deleted, purged.more), (4, false));
    for folder in ["records", "recorded", "expiry"] {
        assert_eq!(etcd.entries(&format!("zoo/{folder}/")).unwrap(), []);
    }
}

#[needs(etcd)]
#[tokio::test(flavor = "multi_thread")]
async fn one_of_several_concurrent_upgrades_runs_the_step() {
    let etcd = Etcd::start(1).unwrap();
    restore(&etcd);
    let etcd = Arc::new(etcd);
    let upgrades = iter::repeat_n(etcd.clone(), 4)
        .map(|etcd| async move { upgraded(&etcd, UpgradeMode::Run).await });
    let mut found = upgrades.collect::<JoinSet<_>>().join_all().await;
    found.sort();
    assert_eq!(found, [(1, vec![2]), (2, vec![]), (2, vec![]), (2, vec![])]);
    has_everything(&open(&url(&etcd)).await).await;
}

/// Another upgrade overtakes this one at its first write to the index of records, and a service then deletes the records.
#[needs(etcd)]
#[tokio::test(flavor = "multi_thread")]
async fn an_overtaken_upgrade_writes_nothing() {
    let etcd = Arc::new(Etcd::start(1).unwrap());
    restore(&etcd);
    let (node, runtime, writes) = (Arc::clone(&etcd), Handle::current(), AtomicU32::new(0));
    let overtake = move |request: &str| {
        if request.contains("request_put") && writes.fetch_add(1, Ordering::SeqCst) == 1 {
            runtime.block_on(async {
                upgraded(&node, UpgradeMode::Force).await;
                let store = open(&url(&node)).await;
                store.purge_expired(Timestamp(i64::MAX), 100).await.unwrap();
            });
        }
        false
    };
    let proxy = etcd.proxy(overtake).unwrap();
    let url = format!("etcd://{proxy}/zoo?request_timeout=30s&call_timeout=30s");
    let config = EtcdConfig::parse(&url).unwrap();
    EtcdStore::upgrade(&config, UpgradeMode::Force).await.unwrap();
    assert_eq!(etcd.entries("zoo/recorded/").unwrap(), []);
}

#[needs(etcd)]
#[tokio::test]
async fn an_interrupted_upgrade_is_continued() {
    let etcd = Etcd::start(1).unwrap();
    restore(&etcd);
    upgraded(&etcd, UpgradeMode::Force).await;
    let upgraded_head = etcd.value("zoo/store").unwrap();
    // The state before the last transaction, without some entries of the index.
    etcd.put("zoo/store", &upgraded_head.replace("\"schema\":2", "\"schema\":1")).unwrap();
    for (key, _) in etcd.entries("zoo/recorded/").unwrap().iter().take(2) {
        etcd.delete(key).unwrap();
    }
    let half = refusal(&url(&etcd)).await;
    assert!(half.contains("its schema is version 1"), "{half}");
    assert_eq!(upgraded(&etcd, UpgradeMode::Run).await, (1, vec![2]));
    has_everything(&open(&url(&etcd)).await).await;
}

#[needs(etcd)]
#[tokio::test]
async fn an_unforced_step_to_2_0_does_not_start_while_a_process_writes() {
    let etcd = Etcd::start(1).unwrap();
    restore(&etcd);
    let head = etcd.value("zoo/head").unwrap();
    let writing = async {
        for rewrites in 2.. {
            tokio::time::sleep(Duration::from_millis(200)).await;
            let rewrites = format!("\"rewrites\":{rewrites}");
            etcd.put("zoo/head", &head.replace("\"rewrites\":1", &rewrites)).unwrap();
        }
    };
    let refusal = tokio::select! {
        upgraded = upgrade(&etcd, UpgradeMode::Run) => upgraded.unwrap_err(),
        () = writing => unreachable!("the process writes until it is dropped"),
    };
    assert!(refusal.contains("another process is writing to the store; stop it"), "{refusal}");
    assert!(etcd.entries("zoo/").unwrap().iter().all(|(key, _)| key != "zoo/store"));
    assert_eq!(upgraded(&etcd, UpgradeMode::Force).await, (1, vec![2]));
}

/// A process of 2.0.0 pauses if another process has failed to write before it. The writer of this test does not, like a
/// process of 1.2.0.
#[needs(etcd)]
#[tokio::test(flavor = "multi_thread")]
async fn a_forced_step_to_2_0_completes_while_a_process_writes() {
    let etcd = Etcd::start(1).unwrap();
    restore(&etcd);
    let etcd = Arc::new(etcd);
    let writing = {
        let etcd = Arc::clone(&etcd);
        tokio::task::spawn_blocking(move || {
            let first = etcd.value("zoo/head").unwrap();
            let written = |number: u32| {
                first.replace("\"rewrites\":1", &format!("\"rewrites\":{}", number + 2))
            };
            let (mut before, mut count) = (first.clone(), 0);
            while count < 2_000 && etcd.replace("zoo/head", &before, &written(count)).unwrap() {
                before = written(count);
                count += 1;
                std::thread::sleep(Duration::from_millis(20 + u64::from(count)));
            }
            count
        })
    };
    assert_eq!(upgraded(&etcd, UpgradeMode::Force).await, (1, vec![2]));
    let count = writing.await.unwrap();
    assert!((1..2_000).contains(&count), "{count} writes before the step");
    has_everything(&open(&url(&etcd)).await).await;
}

#[needs(etcd)]
#[tokio::test]
async fn an_unreadable_record_prevents_the_upgrade_and_records_of_the_outermost_ids_are_indexed() {
    let etcd = Etcd::start(1).unwrap();
    restore(&etcd);
    let record = etcd.value("zoo/records/1a741e9d471d035c6bbe09e1439f8d24").unwrap();
    for id in ["0".repeat(32), "f".repeat(32)] {
        let key = format!("zoo/records/{id}");
        etcd.put(&key, "{}").unwrap();
        let before = etcd.entries("zoo/").unwrap();
        let refusal = upgrade(&etcd, UpgradeMode::Force).await.unwrap_err();
        assert!(refusal.contains(&format!("idempotency record {id}")), "{refusal}");
        assert_eq!(etcd.entries("zoo/").unwrap(), before);
        etcd.put(&key, &record).unwrap();
    }
    upgraded(&etcd, UpgradeMode::Force).await;
    let counts = open(&url(&etcd)).await.snapshot().await.unwrap().counts().await.unwrap();
    assert_eq!(counts.records, 6);
}

/// Release 1.2.0 reads this entry for every request. It needs each field, checks `oldest` when it starts and `phase` for
/// every request, and logs `oldest_release` or `label`.
const OLD_HEAD: &str = r#"{"schema":2,"oldest":2,"oldest_release":"2.0.0","identity":0,"revision":4611686018427387904,"rewrites":0,"phase":"sealed","other":0,"label":"petstore 2.0.0, which has upgraded its schema: stop this process and start that release","version":0,"last_pet":0,"key_revision":0,"last_key":0,"recent":[]}"#;

/// Another process upgrades the store when the first one is about to read the old head.
#[needs(etcd)]
#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_while_a_store_is_opened_leaves_a_head_that_release_1_2_0_refuses() {
    let etcd = Arc::new(Etcd::start(1).unwrap());
    drop(open(&url(&etcd)).await);
    assert_eq!(etcd.value("zoo/head").unwrap(), OLD_HEAD);
    etcd.delete("zoo/").unwrap();
    restore(&etcd);
    let (other, runtime, once) = (etcd.clone(), Handle::current(), Once::new());
    let key = STANDARD.encode("zoo/head");
    let upgrade_before = move |request: &str| {
        if request.contains(&key) {
            once.call_once(|| drop(runtime.block_on(upgraded(&other, UpgradeMode::Force))));
        }
        false
    };
    let proxy = etcd.proxy(upgrade_before).unwrap();
    let url = format!("etcd://{proxy}/zoo?request_timeout=30s&call_timeout=30s");
    has_everything(&open(&url).await).await;
    assert_eq!(etcd.value("zoo/head").unwrap(), OLD_HEAD);
}
