//! The upgrade of a store that an older release made. etcd does not show which processes use a store. So without
//! `--force`, the step to version 2 does not start while another process writes. One transaction moves the head to a
//! new key and puts [`FENCE`] under the old key. Older releases read the old key for every request; they now answer 503
//! and log the reason. Further transactions write the index of the records by their animals. If the process dies before
//! the last transaction, no release opens the store, and the next upgrade continues.

use std::time::Duration;

use petstore_domain::StoreError;
use petstore_storage::{SchemaError, Upgrade, UpgradeMode, require_known};
use tokio::time;

use crate::{
    core::{Core, is_absent, no_head},
    error::Reason,
    head::{Head, HeadRead, STEPS},
    kv::{Bytes, Compare, KeyValue, Op, Range, Txn},
    rows,
};

/// The head for releases before 2.0.0. They refuse `oldest` at their start and `phase` for every request, and log
/// `label`. No mover of these releases expects this revision, so none changes the state.
const FENCE: &str = r#"{"schema":2,"oldest":2,"oldest_release":"2.0.0","identity":0,"revision":4611686018427387904,"rewrites":0,"phase":"sealed","other":0,"label":"petstore 2.0.0, which has upgraded its schema: stop this process and start that release","version":0,"last_pet":0,"key_revision":0,"last_key":0,"recent":[]}"#;

/// The time without a write that must pass before the step to version 2.
const QUIET_TIME: Duration = Duration::from_secs(2);
/// The number of parts in which the records are read. The first two digits of a record's id select the part. etcd
/// visits every entry of a range for each page, so one range would take hours for a million records.
const PARTS: u32 = 256;
const IN_USE: &str =
    "another process is writing to the store; stop it, or run 'petstore upgrade --force'";
/// The largest number of tries. A try fails if another process writes or upgrades meanwhile.
const MAX_TRIES: u32 = 100;

/// Puts `head` under its key, and the fence under the old key, if the condition `old` of the old key holds.
/// Returns `false` if the condition does not hold, or if there is a head already.
pub(crate) async fn place(core: &Core, head: &Head, old: Compare) -> Result<bool, StoreError> {
    let [key, old_key] = [core.keys.head(), core.keys.old_head()];
    let txn = Txn {
        compare: vec![is_absent(&key), old],
        success: vec![Op::put(&key, rows::json(head)), Op::put(&old_key, FENCE.into())],
        ..Txn::default()
    };
    Ok(core.transact(&txn).await?.succeeded)
}

/// Reads the head of a store that this release can use or upgrade; `None` if there is no store.
pub(crate) async fn find(core: &Core) -> Result<Option<HeadRead>, Reason> {
    // Two entries, because one may be `contender`: a service that still runs puts it even after the store was deleted.
    let any = Range { limit: 2, ..Range::after(None, &core.keys.prefix) };
    // Read before the heads: if the entries are of a store that is just being created, the head is found below.
    let found = core.range(&any).await?.kvs;
    // Read before the new head, because an upgrade moves the head.
    let old = core.head_at(&core.keys.old_head(), 0).await?;
    let new = core.head_at(&core.keys.head(), 0).await?;
    let Some(read) = old.filter(|old| old.head.schema < 2).or(new) else {
        let mut keys = found.iter().map(KeyValue::key);
        let Some(key) = keys.find(|key| *key != core.keys.contender()) else { return Ok(None) };
        if !core.keys.is_own(&key) {
            return Err(Reason::Foreign(key));
        }
        let (head, prefix) = (core.keys.head(), core.keys.prefix.clone());
        return Err(Reason::Leftover { key, head, prefix });
    };
    require_known(&STEPS, read.head.oldest, || Some(read.head.oldest_release.clone()))?;
    Ok(Some(read))
}

/// Upgrades the schema of a store. Returns `None` if there is no store.
pub(crate) async fn upgrade(core: &Core, mode: UpgradeMode) -> Result<Option<Upgrade>, Reason> {
    let Some(found) = find(core).await? else { return Ok(None) };
    let mut from = found.head.schema;
    if mode != UpgradeMode::DryRun && from < 2 && !to_version_2(core, mode).await? {
        from = 2;
    }
    Ok(Some(Upgrade::plan(from, &STEPS)))
}

/// Runs the step to version 2. Several processes may run it at once. Returns `false` if another process completed it.
async fn to_version_2(core: &Core, mode: UpgradeMode) -> Result<bool, Reason> {
    for _ in 0..MAX_TRIES {
        match core.head_at(&core.keys.head(), 0).await? {
            Some(read) if read.head.schema >= 2 => return Ok(false),
            Some(read) if index_records(core, &read).await? => return Ok(true),
            Some(_) => {}
            None if move_head(core, mode).await? => {}
            None => break,
        }
    }
    Err(SchemaError::InUse { version: 2, who: IN_USE }.into())
}

/// Moves the head to its new key and puts the fence under the old key, unless another process writes or upgrades
/// meanwhile. Returns `false` if another process writes, and the upgrade must end.
async fn move_head(core: &Core, mode: UpgradeMode) -> Result<bool, StoreError> {
    // Reports an unreadable record while older releases can still use the store.
    for part in 0..PARTS {
        records(core, part).await?;
    }
    let read = core.head_at(&core.keys.old_head(), 0).await?;
    let read = read.ok_or_else(|| StoreError::from(no_head()))?;
    if mode != UpgradeMode::Force {
        time::sleep(QUIET_TIME).await;
    }
    let mut head = read.head.clone();
    (head.oldest, head.oldest_release) = (STEPS[1].oldest, STEPS[1].oldest_release.to_owned());
    let is_moved = place(core, &head, read.is_unchanged()).await?;
    // Another upgrade, or a first try whose answer was lost, may have moved the head.
    let is_there = is_moved || core.head_at(&core.keys.head(), 0).await?.is_some();
    Ok(is_there || mode == UpgradeMode::Force)
}

/// Puts every record under its animal too, and then the new schema version into the head. Returns `false` if another
/// process changed the head meanwhile.
async fn index_records(core: &Core, read: &HeadRead) -> Result<bool, StoreError> {
    let compare = vec![read.is_unchanged()];
    for part in 0..PARTS {
        for some in records(core, part).await?.chunks(core.max_ops().rows()) {
            let success = core.max_ops().nested(some);
            let txn = Txn { compare: compare.clone(), success, ..Txn::default() };
            if !core.transact(&txn).await?.succeeded {
                return Ok(false);
            }
        }
    }
    let mut head = read.head.clone();
    head.schema = 2;
    let success = vec![Op::put(&core.keys.head(), rows::json(&head))];
    Ok(core.transact(&Txn { compare, success, ..Txn::default() }).await?.succeeded)
}

/// Returns the operations that put each record of a part under its animal.
async fn records(core: &Core, part: u32) -> Result<Vec<Op>, StoreError> {
    let folder = core.keys.folder("records");
    let mut range = Range { limit: usize::MAX, ..Range::after(None, &folder) };
    if part > 0 {
        range.key = Bytes::from(&*format!("{folder}{part:02x}"));
    }
    if part + 1 < PARTS {
        range.end = Bytes::from(&*format!("{folder}{:02x}", part + 1));
    }
    let put = |entry: &KeyValue| {
        let key = core.keys.recorded(rows::record(entry)?.position());
        Ok(Op::put(&key, entry.value.0.clone()))
    };
    core.scan(&folder, range, usize::MAX).await?.iter().map(put).collect()
}
