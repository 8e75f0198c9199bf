//! The index of idempotency records, written a while after them.
//!
//! **What.** A record is a row of `idempotency` when its addition is acknowledged. Its entry in
//! `idempotency_index` is written with one of the next [`UNINDEXED`] rows: each row stands for a share
//! of all ids, one share after the other, and its transaction writes the entries of that share. So only
//! the last [`UNINDEXED`] rows can lack an entry. A connection that writes records keeps those rows in
//! memory, where it looks for an id besides. It reads them from the file in its first such transaction.
//!
//! **What it buys.** Ids are random, so an entry that is written with its row changes a page of its own,
//! which is some 15 µs of a commit. The entries of one share lie side by side. There are 1.2 to 1.4 times the
//! additions with a key.
//!
//! **What it costs.** A MiB of memory, the time of reading so many rows once, and that SQLite's own check
//! cannot compare the rows with the entries ([`MISSING`] does).

use std::collections::BTreeMap;

use petstore_domain::IdempotencyId;
use rusqlite::{Connection, OptionalExtension as _, params};

/// How many of the last rows may have no entry yet.
pub(crate) const UNINDEXED: i64 = 1 << SHARE_BITS;
/// A share of the ids: those that begin with the same bits.
const SHARE_BITS: u32 = 14;
const LAST_SHARE: u16 = (1 << SHARE_BITS) - 1;

pub(crate) const LAST: &str = "SELECT seq FROM sqlite_sequence WHERE name = 'idempotency'";
pub(crate) const LOAD: &str = "SELECT id, seq FROM idempotency WHERE seq > ?1 ORDER BY seq";
const FIRST: &str = "SELECT min(seq) FROM idempotency";
pub(crate) const INDEX: &str = "INSERT OR IGNORE INTO idempotency_index (id, seq) VALUES (?1, ?2)";
/// A row that should have an entry and has none.
pub(crate) const MISSING: &str = "SELECT seq FROM idempotency r WHERE seq <= \
     (SELECT seq FROM sqlite_sequence WHERE name = 'idempotency') - ?1 AND NOT EXISTS \
     (SELECT 1 FROM idempotency_index e WHERE e.id = r.id AND e.seq = r.seq) LIMIT 1";

/// What a connection that writes knows of the rows that may lack an entry. After a transaction that was
/// rolled back, it must begin anew.
#[derive(Debug, Default)]
pub(crate) struct RecentRecords {
    /// The row of each id, by the number that the id's bytes are.
    rows: BTreeMap<u128, i64>,
    /// The last row at the last commit: `rows` has all up to it that may lack an entry.
    known: Option<i64>,
    /// The row after which shares are due in the open transaction, once that has to do with records.
    due_after: Option<i64>,
}

impl RecentRecords {
    /// Reads what others have written, once in a transaction, under the write lock.
    pub(super) fn load(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        if self.due_after.is_some() {
            return Ok(());
        }
        let last = last(connection)?;
        self.due_after = Some(self.known.unwrap_or(last));
        let known = self.known.unwrap_or(0);
        if known < last {
            let mut statement = connection.prepare_cached(LOAD)?;
            let mut rows = statement.query([known.max(last - UNINDEXED)])?;
            while let Some(row) = rows.next()? {
                // What is no id is found by whoever reads the record.
                if let Ok(id) = row.get(0) {
                    self.insert(IdempotencyId(id), row.get(1)?);
                }
            }
        }
        Ok(())
    }

    /// Writes the entries that are due, before the commit. What [`committed`](Self::committed) is to be
    /// told.
    pub(crate) fn index(&mut self, connection: &Connection) -> rusqlite::Result<Option<i64>> {
        let Some(after) = self.due_after.take() else { return Ok(self.known) };
        let last = last(connection)?;
        if after == last {
            return Ok(Some(last));
        }
        // Others purge too, the oldest first, and do not tell.
        let first: Option<i64> =
            connection.prepare_cached(FIRST)?.query_row([], |row| row.get(0))?;
        let mut write = connection.prepare_cached(INDEX)?;
        for (from, to) in shares(after, last).into_iter().flatten() {
            for (id, row) in self.rows.extract_if(first_id(from)..=last_id(to), |_, _| true) {
                if first.is_some_and(|first| row >= first) {
                    write.execute(params![id.to_be_bytes(), row])?;
                }
            }
        }
        Ok(Some(last))
    }

    /// Notes that the transaction has been committed, with `last` as the last row that is known.
    pub(crate) fn committed(&mut self, last: Option<i64>) {
        self.known = last;
    }

    /// Returns the row of an id.
    pub(super) fn row(&self, id: IdempotencyId) -> Option<i64> {
        self.rows.get(&number(id)).copied()
    }

    pub(super) fn insert(&mut self, id: IdempotencyId, row: i64) {
        self.rows.insert(number(id), row);
    }

    /// Forgets the row of an id, which was deleted.
    pub(super) fn remove(&mut self, id: &[u8]) {
        if let Ok(id) = id.try_into() {
            self.rows.remove(&u128::from_be_bytes(id));
        }
    }
}

fn number(id: IdempotencyId) -> u128 {
    u128::from_be_bytes(id.0)
}

/// Returns the last row ever written.
fn last(connection: &Connection) -> rusqlite::Result<i64> {
    let last = connection.prepare_cached(LAST)?.query_row([], |row| row.get(0)).optional()?;
    Ok(last.unwrap_or(0))
}

/// Returns the shares of the rows above `after` up to `last`: from one to another, both included, and once more
/// if the last of all shares lies between.
fn shares(after: i64, last: i64) -> [Option<(u16, u16)>; 2] {
    let share = |row: i64| u16::try_from(row.rem_euclid(UNINDEXED)).unwrap_or(LAST_SHARE);
    if last - after >= UNINDEXED {
        return [Some((0, LAST_SHARE)), None];
    }
    match (share(after + 1), share(last)) {
        (from, to) if from <= to => [Some((from, to)), None],
        (from, to) => [Some((from, LAST_SHARE)), Some((0, to))],
    }
}

/// Returns the lowest id of a share.
fn first_id(share: u16) -> u128 {
    u128::from(share) << (u128::BITS - SHARE_BITS)
}

/// Returns the highest id of a share.
fn last_id(share: u16) -> u128 {
    first_id(share) | (u128::MAX >> SHARE_BITS)
}

#[cfg(test)]
mod tests;
