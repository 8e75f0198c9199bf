//! The limits of one transaction.
//!
//! etcd counts operations by level (`--max-txn-ops`): the most of a level's comparisons, of its operations after a
//! success and of those after a failure, plus the most of any one transaction nested in it. Nested transactions beside
//! each other do not add up. So a write puts its entries into nested transactions, and holds many more entries than a
//! flat one.

/// The operations of every write beside its entries: the head and
/// [`Keys::contender`](crate::rows::Keys::contender).
const HEAD_OPS: usize = 2;
/// The most entries that one row changes: an animal, the same by its status, a record, the same by its animal, and the
/// record that it replaces, by its animal.
const ROW_ENTRIES: usize = 5;
/// The largest number of rows in one transaction. etcd's gateway takes some 0.1 ms for an entry on a busy machine, and
/// other writes wait meanwhile.
const MAX_ROWS: usize = 128;
/// The largest size of a transaction: etcd's default (`--max-request-bytes`).
const MAX_BYTES: usize = 1536 * 1024;
/// The largest size of an animal's entry, with the longest name: 255 characters of 4 bytes. The head is smaller, and all
/// entries of a record together are smaller than this.
const MAX_ENTRY: usize = 1536;
// The largest transaction: each row is an animal with a status and a record, and the head is one more entry.
const _: () = assert!((3 * MAX_ROWS + 1) * MAX_ENTRY <= MAX_BYTES);
// The smallest holds one row, and the entry by which its record expires.
const _: () = assert!(MaxOps::MIN.rows() == 1);

/// The `--max-txn-ops` of the nodes, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MaxOps(pub(crate) usize);

impl MaxOps {
    /// etcd's default.
    pub(crate) const DEFAULT: Self = Self(128);
    /// The fewest with which one addition fits.
    pub(crate) const MIN: Self = Self(8);

    /// Returns half as many, but not fewer than [`MIN`](Self::MIN).
    pub(crate) fn halved(self) -> Self {
        Self((self.0 / 2).max(Self::MIN.0))
    }

    /// Returns how many operations a nested transaction has, how many nested transactions a write has, and how many
    /// entries it compares beside the head: each at most so many.
    pub(crate) const fn nested(self) -> usize {
        (self.0 - HEAD_OPS) / 2
    }

    /// Returns how many entries one transaction changes.
    pub(crate) const fn entries(self) -> usize {
        self.nested() * self.nested()
    }

    /// Returns how many rows or additions one transaction holds. One more entry names all their records.
    pub(crate) const fn rows(self) -> usize {
        let rows = (self.entries() - 1) / ROW_ENTRIES;
        if rows < MAX_ROWS { rows } else { MAX_ROWS }
    }
}
