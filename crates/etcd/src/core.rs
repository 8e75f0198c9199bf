//! Reads and writes: each write is one transaction that compares the head with what it was made of.
//!
//! A head's value never comes back, as it names the last groups of writes, which are random. So a transaction can be
//! sent again after an answer was lost: at most one of the two is carried out, and the head tells whether one was.

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant as Moment},
};

use petstore_domain::{Corruption, PetId};
use petstore_storage::VersionCache;
use tokio::{
    sync::Mutex,
    time::{self, Instant},
};

use crate::{
    client::{Client, Reply},
    error::Failure,
    head::{Head, View},
    kv::{Compare, KeyValue, Op, Range, RangeAnswer, Txn, TxnAnswer},
    rows::{self, Keys, Puts, StoredPet},
};

/// Operations that one transaction may have: etcd's default (`--max-txn-ops`). Comparisons, what is done if they hold
/// and what is done if not are counted each for themselves.
pub(crate) const MAX_OPS: usize = 128;
/// Those of them that every write needs: the head and [`Keys::waiting`].
pub(crate) const HEAD_OPS: usize = 2;
/// Bytes that one transaction may have: etcd's default (`--max-request-bytes`).
const MAX_BYTES: usize = 1536 * 1024;
/// Bytes of the largest entry: an animal with the longest name, 255 characters of 4 bytes, or the head.
const MAX_ENTRY: usize = 1536;
// So no transaction is too large that has few enough operations.
const _: () = assert!(MAX_OPS * MAX_ENTRY <= MAX_BYTES);
/// Entries that are read at a time, of at most 1.1 KiB: etcd's gateway takes answers of 4 MiB.
const PAGE: usize = 1000;

/// How long a writer lets another one go first: twice what its own transaction took, within these bounds.
const MIN_PAUSE: Duration = Duration::from_millis(5);
const MAX_PAUSE: Duration = Duration::from_millis(100);

/// What all ports use.
pub(crate) struct Core {
    pub(crate) client: Client,
    pub(crate) keys: Keys,
    pub(crate) version: Arc<VersionCache>,
    /// Whether reads go on while the store is sealed.
    pub(crate) reads_while_sealed: AtomicBool,
    /// The head after the last write of this instance. Held while one is under way, so that its own writes do not
    /// compete with each other.
    last: Mutex<Last>,
    /// What this instance is called in [`Keys::waiting`].
    name: Vec<u8>,
}

#[derive(Default)]
struct Last {
    view: Option<View>,
    /// When the next write may begin.
    pause: Option<Instant>,
}

/// What becomes of a write, by what the store holds.
pub(crate) enum Plan<T> {
    /// There is nothing to be written.
    Done(T),
    /// The head, and the entries to put and to delete.
    Write(Box<Head>, Puts, Vec<String>, T),
}

impl Core {
    pub(crate) fn new(client: Client, prefix: &str) -> Self {
        Self {
            client,
            keys: Keys { prefix: prefix.to_owned() },
            version: Arc::default(),
            reads_while_sealed: AtomicBool::new(false),
            last: Mutex::default(),
            name: format!("{:016x}", getrandom::u64().unwrap_or_default()).into_bytes(),
        }
    }

    /// Reads the head and ranges at one revision, which holds all that was acknowledged before.
    pub(crate) async fn read(&self, ranges: &[Range], deadline: Instant) -> Result<View, Failure> {
        Ok(self.try_read(ranges, deadline).await?.ok_or_else(no_head)?)
    }

    /// The same; `None` if there is no head.
    pub(crate) async fn try_read(
        &self,
        ranges: &[Range],
        deadline: Instant,
    ) -> Result<Option<View>, Failure> {
        let began = Moment::now();
        let txn = Txn { success: self.reads(ranges), ..Txn::default() };
        let Reply { answer, .. } = self.client.call("/v3/kv/txn", &txn, deadline).await?;
        let view = view_of(answer)?;
        if let Some(view) = &view {
            self.version.observe(view.stored_version(), began);
        }
        Ok(view)
    }

    fn reads(&self, ranges: &[Range]) -> Vec<Op> {
        let head = Range::one(&self.keys.head());
        [&[head], ranges].concat().into_iter().map(Op::Range).collect()
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

    /// Reads up to `limit` animals behind `after`, as they were when `view` was read.
    pub(crate) async fn scan_pets(
        &self,
        view: &View,
        mut after: Option<PetId>,
        limit: usize,
    ) -> Result<Vec<StoredPet>, Failure> {
        let mut pets = Vec::new();
        loop {
            let (wanted, mut page) = (PAGE.min(limit - pets.len()), Vec::new());
            for (range, last) in self.keys.pet_ranges(None, after, wanted) {
                page = self.scan(range, wanted, view.revision).await?;
                if page.len() == wanted || last >= view.head.last_pet {
                    break;
                }
            }
            let some = page.iter().map(StoredPet::from_entry).collect::<Result<Vec<_>, _>>()?;
            pets.extend(some);
            if page.len() < wanted || pets.len() == limit {
                return Ok(pets);
            }
            after = pets.last().map(|stored| stored.pet.id);
        }
    }

    /// Reads one key each, at the revision or, with 0, at the newest.
    pub(crate) async fn read_each(
        &self,
        keys: &[String],
        revision: i64,
    ) -> Result<Vec<Option<KeyValue>>, Failure> {
        let mut all = Vec::with_capacity(keys.len());
        for some in keys.chunks(MAX_OPS) {
            let ranges = some.iter().map(|key| Op::Range(Range { revision, ..Range::one(key) }));
            let txn = Txn { success: ranges.collect(), ..Txn::default() };
            let deadline = self.client.deadline();
            let reply = self.client.call::<TxnAnswer>("/v3/kv/txn", &txn, deadline).await?;
            all.extend(reply.answer.found().map(|mut entries| entries.pop()));
        }
        Ok(all)
    }

    /// Writes what `plan` makes of the head and of what the ranges found, until nobody has written in between.
    ///
    /// Who loses a comparison says so, and whoever writes next lets it go first: otherwise small writes of one instance
    /// would keep out the large ones of another for good.
    ///
    /// With `optimistic`, the first try is made of what this instance has written last, and of nothing found in the
    /// ranges, each of one key: the transaction compares that, too.
    pub(crate) async fn commit<T, E: From<Failure>>(
        &self,
        ranges: &[Range],
        optimistic: Option<&[String]>,
        mut plan: impl FnMut(&View, u64) -> Result<Plan<T>, E>,
    ) -> Result<T, E> {
        let deadline = self.client.deadline();
        let late = |_| Failure::Deadline(self.client.call_timeout());
        let mut last = time::timeout_at(deadline, self.last.lock()).await.map_err(late)?;
        let mut absent: Vec<Compare> = Vec::new();
        if let Some(until) = last.pause.take() {
            time::sleep_until(until.min(deadline)).await;
        }
        let known = last.view.take().filter(|_| optimistic.is_some());
        let mut is_fresh = known.is_none();
        let mut view = match known {
            Some(view) => {
                absent.extend(optimistic.unwrap_or_default().iter().map(|key| is_absent(key)));
                view
            }
            None => self.read(ranges, deadline).await?,
        };
        loop {
            let group = getrandom::u64().map_err(Failure::from)?;
            let planned = plan(&view, group);
            let (mut head, puts, deletes, answer) = match planned {
                Ok(Plan::Write(head, puts, deletes, answer)) => (head, puts, deletes, answer),
                // What was known may be out of date.
                _ if !is_fresh => {
                    view = self.read(ranges, deadline).await?;
                    is_fresh = true;
                    absent.clear();
                    continue;
                }
                Ok(Plan::Done(answer)) => return Ok(answer),
                Err(error) => return Err(error),
            };
            head.note_group(group);
            let mut txn = self.txn(&view, puts, &deletes, ranges);
            txn.compare.append(&mut absent);
            match self.send(&view, *head, group, txn, &mut last, deadline).await? {
                None => return Ok(answer),
                Some(now) => (view, is_fresh) = (now, true),
            }
        }
    }

    /// Sends the transaction that makes `head` of `view`. Returns what is there if it has lost a comparison.
    async fn send(
        &self,
        view: &View,
        head: Head,
        group: u64,
        mut txn: Txn,
        last: &mut Last,
        deadline: Instant,
    ) -> Result<Option<View>, Failure> {
        let (began, raw) = (Moment::now(), rows::json(&head));
        txn.success.push(Op::put(&self.keys.head(), raw.clone()));
        let reply = self.client.call::<TxnAnswer>("/v3/kv/txn", &txn, deadline).await?;
        let Reply { answer, is_repeated } = reply;
        if answer.succeeded {
            if answer.taken().any(|name| name != self.name) {
                let pause = (began.elapsed() * 2).clamp(MIN_PAUSE, MAX_PAUSE);
                last.pause = Some(Instant::now() + pause);
            }
            let (revision, writes) = (answer.header.revision, view.writes + 1);
            let new = View { head, raw, writes, changed: revision, revision, found: Vec::new() };
            self.version.observe(new.stored_version(), began);
            last.view = Some(new);
            return Ok(None);
        }
        let now = view_of(answer)?.ok_or_else(no_head)?;
        self.version.observe(now.stored_version(), began);
        // Its answer was lost, and it was sent again.
        if now.head.has_group(group) {
            last.view = Some(View { found: Vec::new(), ..now });
            return Ok(None);
        }
        if is_repeated && !now.remembers_since(view) {
            return Err(Failure::InDoubt);
        }
        if Instant::now() >= deadline {
            return Err(Failure::Deadline(self.client.call_timeout()));
        }
        Ok(Some(now))
    }

    /// Makes a transaction that still lacks the new head.
    fn txn(&self, view: &View, puts: Puts, deletes: &[String], ranges: &[Range]) -> Txn {
        let compare = vec![view.comparison(&self.keys.head())];
        let mut success: Vec<Op> =
            puts.into_iter().map(|(key, value)| Op::put(&key, value)).collect();
        success.extend(deletes.iter().map(|key| Op::delete(key)));
        success.push(Op::take(&self.keys.waiting()));
        let mut failure = self.reads(ranges);
        failure.push(Op::put(&self.keys.waiting(), self.name.clone()));
        Txn { compare, success, failure }
    }
}

fn no_head() -> Corruption {
    Corruption::new("the head of the store", "there is one")
}

fn view_of(answer: TxnAnswer) -> Result<Option<View>, Failure> {
    Ok(View::new(answer.header.revision, answer.found())?)
}

/// The comparison of a key that is not there.
pub(crate) fn is_absent(key: &str) -> Compare {
    Compare::Create { key: key.into(), create_revision: 0 }
}
