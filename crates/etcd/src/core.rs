//! Reads and writes. Each write is one transaction that compares the head with the one that the write was made from.
//!
//! A head's value never comes back, because it holds the random names of the last groups of writes. So a transaction
//! can be sent again after a lost answer: at most one of the two is carried out, and the head tells whether one was.

use std::{
    sync::Arc,
    time::{Duration, Instant as Moment},
};

use petstore_domain::Corruption;
use petstore_storage::VersionCache;
use tokio::{
    sync::Mutex,
    time::{self, Instant},
};

use crate::{
    client::{Client, Reply},
    draft::Draft,
    error::Failure,
    head::{Head, HeadRead},
    kv::{Compare, KeyValue, Op, Range, RangeAnswer, Txn, TxnAnswer},
    rows::{self, Changes, Keys},
};

/// Entries that are read at a time, of at most 1.1 KiB each: etcd's gateway limits an answer to 4 MiB.
const PAGE: usize = 1000;

/// The pause of a writer for one that has lost a comparison: twice the time of its own transaction, within these bounds.
const MIN_PAUSE: Duration = Duration::from_millis(5);
const MAX_PAUSE: Duration = Duration::from_millis(100);

/// The store as all ports use it.
pub(crate) struct Core {
    pub(crate) client: Client,
    pub(crate) keys: Keys,
    pub(crate) version: Arc<VersionCache>,
    /// `true` if animals are read while the store is sealed.
    pub(crate) reads_while_sealed: bool,
    /// The head after the last write of this process. Locked during a write, so that the writes of one process do not
    /// compete with each other.
    last: Mutex<Last>,
    /// The value that this process puts under [`Keys::contender`].
    instance: Vec<u8>,
}

#[derive(Default)]
struct Last {
    read: Option<HeadRead>,
    /// The next write begins no earlier.
    pause: Option<Instant>,
}

impl Core {
    pub(crate) fn new(client: Client, prefix: &str, reads_while_sealed: bool) -> Self {
        Self {
            client,
            keys: Keys { prefix: prefix.to_owned() },
            version: Arc::default(),
            reads_while_sealed,
            last: Mutex::default(),
            instance: format!("{:016x}", getrandom::u64().unwrap_or_default()).into_bytes(),
        }
    }

    /// Reads the head and ranges at one revision, which holds everything that was acknowledged before.
    pub(crate) async fn read(
        &self,
        ranges: &[Range],
        deadline: Instant,
    ) -> Result<HeadRead, Failure> {
        Ok(self.try_read(ranges, deadline).await?.ok_or_else(no_head)?)
    }

    /// As [`read`](Self::read); `None` without a head.
    pub(crate) async fn try_read(
        &self,
        ranges: &[Range],
        deadline: Instant,
    ) -> Result<Option<HeadRead>, Failure> {
        let began = Moment::now();
        let read = self.try_read_at(&self.keys.head(), ranges, deadline).await?;
        if let Some(read) = &read {
            self.version.observe(read.stored_version(), began);
        }
        Ok(read)
    }

    /// As [`try_read`](Self::try_read), with the head under another key.
    pub(crate) async fn try_read_at(
        &self,
        head: &str,
        ranges: &[Range],
        deadline: Instant,
    ) -> Result<Option<HeadRead>, Failure> {
        let txn = Txn { success: reads(head, ranges), ..Txn::default() };
        let Reply { answer, .. } = self.client.call("/v3/kv/txn", &txn, deadline).await?;
        read_of(answer)
    }

    /// Sends a transaction of any kind.
    pub(crate) async fn transact(&self, txn: &Txn) -> Result<TxnAnswer, Failure> {
        Ok(self.client.call("/v3/kv/txn", txn, self.client.deadline()).await?.answer)
    }

    /// Reads up to `limit` entries of a range, at a revision or, with 0, at the newest.
    pub(crate) async fn scan(
        &self,
        mut range: Range,
        mut limit: usize,
        mut revision: i64,
    ) -> Result<Vec<KeyValue>, Failure> {
        let mut all = Vec::new();
        loop {
            let page = Range { limit: limit.min(PAGE), revision, ..range.clone() };
            let reply = self.client.call("/v3/kv/range", &page, self.client.deadline()).await?;
            let RangeAnswer { header, kvs, more, .. } = reply.answer;
            if revision == 0 {
                revision = header.revision;
            }
            limit -= kvs.len().min(limit);
            all.extend(kvs);
            let Some(last) = all.last().filter(|_| more && limit > 0) else {
                return Ok(all);
            };
            range.key = last.key.clone();
            range.key.0.push(0);
        }
    }

    /// Reads up to `limit` entries behind the key `after`, at the revision of `read`, in a folder whose keys begin with
    /// an identifier.
    pub(crate) async fn scan_by_id(
        &self,
        read: &HeadRead,
        folder: &str,
        mut after: Option<String>,
        limit: usize,
    ) -> Result<Vec<KeyValue>, Failure> {
        let mut all = Vec::new();
        loop {
            let (wanted, mut page) = (PAGE.min(limit - all.len()), Vec::new());
            for (range, _) in rows::growing_ranges(folder, after.as_deref(), wanted) {
                page = self.scan(range, wanted, read.revision).await?;
                if page.len() == wanted {
                    break;
                }
            }
            let is_end = page.len() < wanted;
            all.extend(page);
            if is_end || all.len() == limit {
                return Ok(all);
            }
            after = all.last().map(KeyValue::key);
        }
    }

    /// Writes what `plan` drafts from the head and the entries under `keys`, and returns what `plan` returns. If another
    /// process has written in between, `plan` is called again. Nothing is written if it changes nothing or fails.
    ///
    /// A writer that loses the comparison puts its name under [`Keys::contender`], and the next winner pauses so that it
    /// can commit: otherwise small writes of one process would keep out the large ones of another for good.
    ///
    /// With `assume_absent`, the first try needs no read: it is made from the head of this process's last write, and the
    /// transaction compares that no entry is under `keys`.
    pub(crate) async fn commit<T, E: From<Failure>>(
        &self,
        keys: &[String],
        assume_absent: bool,
        mut plan: impl FnMut(&mut Draft<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let deadline = self.client.deadline();
        let late = |_| Failure::Deadline(self.client.call_timeout());
        let mut last = time::timeout_at(deadline, self.last.lock()).await.map_err(late)?;
        if let Some(until) = last.pause.take() {
            time::sleep_until(until.min(deadline)).await;
        }
        let ranges: Vec<_> = keys.iter().map(|key| Range::one(key)).collect();
        let mut absent: Vec<Compare> = Vec::new();
        let known = last.read.take().filter(|_| assume_absent);
        let mut is_fresh = known.is_none();
        let mut read = match known {
            Some(read) => {
                absent.extend(keys.iter().map(|key| is_absent(key)));
                read
            }
            None => self.read(&ranges, deadline).await?,
        };
        loop {
            let group = getrandom::u64().map_err(Failure::from)?;
            let mut draft = Draft::new(&self.keys, &read);
            let planned = plan(&mut draft);
            let drafted = if planned.is_ok() { draft.finish(group) } else { None };
            let Some((head, changes)) = drafted else {
                if is_fresh {
                    return planned;
                }
                // The known head may be out of date.
                read = self.read(&ranges, deadline).await?;
                is_fresh = true;
                absent.clear();
                continue;
            };
            let mut txn = self.txn(&read, changes, &ranges);
            txn.compare.append(&mut absent);
            match self.send(&read, head, group, txn, &mut last, deadline).await? {
                None => return planned,
                Some(now) => (read, is_fresh) = (now, true),
            }
        }
    }

    /// Sends the transaction that puts `head` in place of `read`. If it has lost a comparison, returns what is there.
    async fn send(
        &self,
        read: &HeadRead,
        head: Head,
        group: u64,
        mut txn: Txn,
        last: &mut Last,
        deadline: Instant,
    ) -> Result<Option<HeadRead>, Failure> {
        let (began, raw) = (Moment::now(), rows::json(&head));
        txn.success.push(Op::put(&self.keys.head(), raw.clone()));
        let reply = self.client.call::<TxnAnswer>("/v3/kv/txn", &txn, deadline).await?;
        let Reply { answer, is_repeated } = reply;
        if answer.succeeded {
            if answer.taken().any(|instance| instance != self.instance) {
                let pause = (began.elapsed() * 2).clamp(MIN_PAUSE, MAX_PAUSE);
                last.pause = Some(Instant::now() + pause);
            }
            let (revision, writes) = (answer.header.revision, read.writes + 1);
            let new =
                HeadRead { head, raw, writes, changed: revision, revision, found: Vec::new() };
            self.version.observe(new.stored_version(), began);
            last.read = Some(new);
            return Ok(None);
        }
        let now = read_of(answer)?.ok_or_else(no_head)?;
        self.version.observe(now.stored_version(), began);
        // The answer to the first try was lost.
        if now.head.has_group(group) {
            last.read = Some(HeadRead { found: Vec::new(), ..now });
            return Ok(None);
        }
        if is_repeated && !now.remembers_since(read) {
            return Err(Failure::InDoubt);
        }
        if Instant::now() >= deadline {
            return Err(Failure::Deadline(self.client.call_timeout()));
        }
        Ok(Some(now))
    }

    /// Makes a transaction that still lacks the new head.
    fn txn(&self, read: &HeadRead, changes: Changes, ranges: &[Range]) -> Txn {
        let change = |(key, value): (String, Option<_>)| match value {
            Some(value) => Op::put(&key, value),
            None => Op::delete(&key),
        };
        let mut success: Vec<Op> = changes.into_iter().map(change).collect();
        success.push(Op::take(&self.keys.contender()));
        let mut failure = reads(&self.keys.head(), ranges);
        failure.push(self.contend());
        Txn { compare: vec![read.is_unchanged(&self.keys.head())], success, failure }
    }

    /// Returns the operation that makes the next winner pause.
    pub(crate) fn contend(&self) -> Op {
        Op::put(&self.keys.contender(), self.instance.clone())
    }
}

fn reads(head: &str, ranges: &[Range]) -> Vec<Op> {
    [&[Range::one(head)], ranges].concat().into_iter().map(Op::Range).collect()
}

fn no_head() -> Corruption {
    Corruption::new("the head of the store", "there is one")
}

fn read_of(answer: TxnAnswer) -> Result<Option<HeadRead>, Failure> {
    Ok(HeadRead::new(answer.header.revision, answer.found())?)
}

/// Returns the condition that there is no entry under `key`.
pub(crate) fn is_absent(key: &str) -> Compare {
    Compare::Create { key: key.into(), create_revision: 0 }
}
