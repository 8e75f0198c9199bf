//! Reads and writes. Each write is one transaction. The transaction compares the stored head with the head from which
//! the write was planned.
//!
//! A head's value never recurs, because it holds the random names of the last transactions. So a transaction whose
//! answer is lost can be sent again: etcd carries it out at most once, and the head shows whether it was carried out.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant as Moment},
};

use petstore_domain::{Corruption, StoreError, WriterRole};
use petstore_storage::{StoredVersion, VersionCache};
use tokio::{
    sync::Mutex,
    time::{self, Instant},
};

use crate::{
    client::{Client, Reply},
    config::EtcdConfig,
    draft::{Changes, Draft},
    error::{self, Cause, Reason},
    head::{self, Head, HeadRead},
    kv::{Compare, KeyValue, Op, Range, RangeAnswer, Txn, TxnAnswer},
    limits::{MAX_ENTRY, MaxOps},
    rows::{self, Keys},
};

/// The number of entries in one page of a read.
const PAGE: usize = 1000;
// The largest answer of etcd's gateway is 4 MiB.
const _: () = assert!(PAGE * MAX_ENTRY <= 4 * 1024 * 1024);
/// The factors of the first and the second window of a read: see [`Core::scan`].
pub(crate) const NEAR: usize = 8;
pub(crate) const FAR: usize = 512;

/// The time limit of one read of the version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(1);
/// The shortest pause of a winner after another writer has lost a comparison. The pause is twice the time that the
/// slower of the two needs for a try.
const MIN_PAUSE: Duration = Duration::from_millis(5);
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// The assumed time that a first try needs for each entry.
const ENTRY_TIME: Duration = Duration::from_micros(200);

/// The store behind all ports.
pub(crate) struct Core {
    pub(crate) client: Client,
    pub(crate) keys: Keys,
    pub(crate) version: Arc<VersionCache>,
    /// The head after the last write of this process. The lock is held during a write, so that writes of one process do
    /// not compete.
    last: Mutex<Last>,
    /// See [`max_ops`](Self::max_ops).
    max_ops: AtomicUsize,
    /// The name of this process under [`Keys::contender`].
    instance: u64,
}

#[derive(Default)]
struct Last {
    read: Option<HeadRead>,
    /// The earliest start of the next write.
    pause: Option<Instant>,
}

impl Core {
    pub(crate) fn new(config: &EtcdConfig) -> Result<Self, Reason> {
        Ok(Self {
            client: Client::new(config)?,
            keys: Keys { prefix: config.prefix.clone() },
            version: Arc::default(),
            last: Mutex::default(),
            max_ops: AtomicUsize::new(MaxOps::DEFAULT.0),
            instance: getrandom::u64().unwrap_or_default(),
        })
    }

    /// Reads the head and `ranges` at one revision. The revision has every write that was acknowledged before.
    pub(crate) async fn read(
        &self,
        ranges: &[Range],
        deadline: Instant,
    ) -> Result<HeadRead, StoreError> {
        let mut chunks = ranges.chunks(self.max_ops().0 - 1);
        let first = [&[Range::one(&self.keys.head())], chunks.next().unwrap_or_default()].concat();
        let began = Moment::now();
        let (answer, _) = self.send(&reads(first), deadline).await?;
        let mut read = HeadRead::new(answer)?.ok_or_else(no_head)?;
        self.version.observe(read.stored_version(), began);
        for chunk in chunks {
            let at_revision = |range: &Range| Range { revision: read.revision, ..range.clone() };
            let txn = reads(chunk.iter().map(at_revision).collect());
            read.found.extend(self.send(&txn, deadline).await?.0.found().flatten());
        }
        Ok(read)
    }

    /// Reads the version. A node without a majority answers no read. So an instance of petstore that reaches only such
    /// a node soon has no version.
    pub(crate) async fn stored_version(self: Arc<Self>) -> Option<StoredVersion> {
        let read = self.read(&[], Instant::now() + VERSION_TIMEOUT).await.ok()?;
        Some(read.stored_version())
    }

    /// Reads the head under `key`, at `revision`; 0 is the newest revision. Returns `None` if `key` has no entry.
    pub(crate) async fn head_at(
        &self,
        key: &str,
        revision: i64,
    ) -> Result<Option<HeadRead>, StoreError> {
        let range = Range { revision, ..Range::one(key) };
        Ok(HeadRead::new(self.transact(&reads(vec![range])).await?)?)
    }

    /// Sends a transaction, with the deadline of a call that begins now.
    pub(crate) async fn transact(&self, txn: &Txn) -> Result<TxnAnswer, StoreError> {
        Ok(self.send(txn, self.client.deadline()).await?.0)
    }

    /// Sends a transaction. If etcd accepts fewer operations, halves [`max_ops`](Self::max_ops).
    async fn send(&self, txn: &Txn, deadline: Instant) -> Result<Reply<TxnAnswer>, StoreError> {
        let MaxOps(max) = self.max_ops();
        let reply = self.client.call("/v3/kv/txn", txn, deadline).await;
        if reply.as_ref().is_err_and(error::is_too_many_ops) {
            let halved = (max / 2).max(MaxOps::MIN.0);
            // The exchange fails if another call has halved the number meanwhile.
            let _ = self.max_ops.compare_exchange(max, halved, Relaxed, Relaxed);
        }
        reply
    }

    /// Returns the number of operations that etcd takes in a transaction, as far as this process knows.
    pub(crate) fn max_ops(&self) -> MaxOps {
        MaxOps(self.max_ops.load(Relaxed))
    }

    /// Halves [`max_ops`](Self::max_ops) until etcd takes that many operations in a transaction. Fails below
    /// [`MaxOps::MIN`].
    pub(crate) async fn learn_max_ops(&self) -> Result<(), StoreError> {
        loop {
            let max = self.max_ops();
            let range = Range { count_only: true, ..Range::one(&self.keys.contender()) };
            match self.transact(&reads(vec![range; max.0])).await {
                Err(error) if error::is_too_many_ops(&error) && self.max_ops() != max => {}
                learned => return learned.map(drop),
            }
        }
    }

    /// Reads the entries of `range`, which is a part of `folder`, up to the limit of `range`. Behind `folder`, each key
    /// begins with an identifier.
    ///
    /// etcd visits every entry of a range, whatever the limit is. With one range to the end, each page would take
    /// longer the more entries the store holds. So this method reads windows. The first window holds `factor` times as
    /// many identifiers as a page holds entries. A wider window follows a window that does not fill its page.
    pub(crate) async fn scan(
        &self,
        folder: &str,
        mut range: Range,
        mut factor: usize,
    ) -> Result<Vec<KeyValue>, StoreError> {
        let mut all = Vec::new();
        loop {
            let limit = PAGE.min(range.limit - all.len());
            let (end, _) = rows::window(folder, &range, limit.saturating_mul(factor));
            let window = Range { limit, end: end.clone(), ..range.clone() };
            let found = self.range(&window).await?.kvs;
            let is_full = found.len() == limit;
            all.extend(found);
            if all.len() == range.limit || (!is_full && end == range.end) {
                return Ok(all);
            }
            if let (true, Some(last)) = (is_full, all.last()) {
                range.key = Range::after(Some(last.key()), folder).key;
            } else {
                range.key = end;
                factor = if factor < FAR { FAR } else { usize::MAX };
            }
        }
    }

    /// Counts the entries of `folder` at `revision`.
    pub(crate) async fn count(&self, folder: &str, revision: i64) -> Result<u64, StoreError> {
        let range = Range { revision, count_only: true, ..Range::after(None, folder) };
        Ok(self.range(&range).await?.count.unsigned_abs())
    }

    pub(crate) async fn range(&self, range: &Range) -> Result<RangeAnswer, StoreError> {
        Ok(self.client.call("/v3/kv/range", range, self.client.deadline()).await?.0)
    }

    /// Writes the draft that `plan` makes from the head and the entries under `keys`, and returns the result of `plan`.
    /// If another process writes in between, calls `plan` again. Writes nothing if `plan` changes nothing or fails.
    /// Fails without a call of `plan` if the state of the store does not permit `writer`.
    ///
    /// A writer that loses the comparison puts its name and the time that it needs under [`Keys::contender`]. The next
    /// winner pauses so that the loser can commit. Otherwise small writes of one process would starve the large writes
    /// of another.
    ///
    /// With `assume_absent`, the first try needs no read if the head of this process's last write is known: `plan` gets
    /// that head, and the transaction requires that `keys` have no entries.
    pub(crate) async fn commit<T, E: From<StoreError>>(
        &self,
        writer: Option<WriterRole>,
        keys: &[String],
        assume_absent: bool,
        mut plan: impl FnMut(&mut Draft<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let deadline = self.client.deadline();
        let last = time::timeout_at(deadline, self.last.lock()).await;
        let mut last = last.map_err(|_| self.client.late())?;
        if let Some(until) = last.pause.take() {
            time::sleep_until(until.min(deadline)).await;
        }
        let ranges: Vec<_> = keys.iter().map(|key| Range::one(key)).collect();
        let is_assumed = assume_absent && keys.len() <= self.max_ops().comparisons();
        let mut known = last.read.take().filter(|_| is_assumed);
        let mut losing = Duration::ZERO;
        loop {
            let (began, is_fresh) = (Instant::now(), known.is_none());
            let read = match known.take() {
                Some(read) => read,
                None => self.read(&ranges, deadline).await?,
            };
            let group = (head::random()? >> 64) as u64;
            let mut draft = Draft::new(&self.keys, &read);
            let permit = |writer| read.head.state()?.permit_write(writer);
            let permitted = writer.map_or(Ok(()), permit);
            let planned = permitted.map_err(E::from).and_then(|()| plan(&mut draft));
            let drafted = if planned.is_ok() { draft.finish(group) } else { None };
            let Some((head, changes)) = drafted else {
                if is_fresh {
                    return planned;
                }
                // The known head may be outdated, so `plan` is called again with the stored head.
                continue;
            };
            // `max_ops` may have been halved since the caller chose the size of the write.
            if changes.len() > self.max_ops().entries() {
                return Err(StoreError::unavailable(Cause::TooManyOps).into());
            }
            let absent = if is_fresh { &[] } else { keys };
            let txn = self.txn(&read, changes, absent, losing);
            if self.write(&read, head, txn, &mut last, deadline).await? {
                return planned;
            }
            losing = began.elapsed();
        }
    }

    /// Sends the transaction that replaces `read` by `head`. Returns `false` if it lost a comparison.
    async fn write(
        &self,
        read: &HeadRead,
        head: Head,
        mut txn: Txn,
        last: &mut Last,
        deadline: Instant,
    ) -> Result<bool, StoreError> {
        let (began, raw) = (Moment::now(), rows::json(&head));
        txn.success.push(Op::put(&self.keys.head(), raw.clone()));
        let (answer, is_repeated) = self.send(&txn, deadline).await?;
        if answer.succeeded {
            let revision = answer.header.revision;
            let mut taken = answer.found().flatten();
            if let Some(needed) = taken.find_map(|entry| self.needed_by_other(&entry.value.0)) {
                let pause = (began.elapsed().max(needed) * 2).clamp(MIN_PAUSE, MAX_PAUSE);
                last.pause = Some(Instant::now() + pause);
            }
            let mut entry = KeyValue::new(&self.keys.head(), raw);
            (entry.mod_revision, entry.version) = (revision, read.entry.version + 1);
            let new = HeadRead { head, entry, revision, found: Vec::new() };
            self.version.observe(new.stored_version(), began);
            last.read = Some(new);
            return Ok(true);
        }
        let now = HeadRead::new(answer)?.ok_or_else(no_head)?;
        self.version.observe(now.stored_version(), began);
        // If the head remembers the transaction, an earlier try committed it, and the answer to that try was lost.
        if now.head.remembers(&head) {
            last.read = Some(now);
            return Ok(true);
        }
        if is_repeated && !now.remembers_since(read) {
            let why = "the answer was lost, and too many other writes followed to tell whether this one happened";
            return Err(StoreError::unavailable(why));
        }
        if Instant::now() >= deadline {
            return Err(self.client.late());
        }
        Ok(false)
    }

    /// Returns a transaction that still lacks the new head. The transaction requires that the keys `absent` have no
    /// entries. `losing` is the duration of the last try if that try lost a comparison, and otherwise zero.
    fn txn(&self, read: &HeadRead, changes: Changes, absent: &[String], losing: Duration) -> Txn {
        let change = |(key, value): (String, Option<_>)| {
            value.map_or_else(|| Op::delete(&key, false), |value| Op::put(&key, value))
        };
        let changes: Vec<Op> = changes.into_iter().map(change).collect();
        let mut compare = vec![read.is_unchanged()];
        compare.extend(absent.iter().map(|key| is_absent(key)));
        let needed = losing.max(ENTRY_TIME * u32::try_from(changes.len()).unwrap_or_default());
        let mut success = self.max_ops().nested(&changes);
        success.push(Op::delete(&self.keys.contender(), true));
        let contend = Op::put(&self.keys.contender(), rows::json(&(self.instance, needed)));
        let failure = vec![Op::Range(Range::one(&self.keys.head())), contend];
        Txn { compare, success, failure }
    }

    /// Returns the time that another process needs, from `value` under [`Keys::contender`]. Returns `None` if this
    /// process has put `value`.
    fn needed_by_other(&self, value: &[u8]) -> Option<Duration> {
        let (instance, needed) = serde_json::from_slice::<(u64, Duration)>(value).ok()?;
        (instance != self.instance).then_some(needed)
    }
}

/// Returns a transaction that reads all ranges at one revision.
pub(crate) fn reads(ranges: Vec<Range>) -> Txn {
    Txn { success: ranges.into_iter().map(Op::Range).collect(), ..Txn::default() }
}

pub(crate) fn no_head() -> Corruption {
    Corruption::new("no head", "every store has a head")
}

/// Returns the condition that `key` has no entry.
pub(crate) fn is_absent(key: &str) -> Compare {
    Compare::Create { key: key.into(), create_revision: 0 }
}
