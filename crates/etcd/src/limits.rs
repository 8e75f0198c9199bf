//! The limits of one transaction. etcd limits operations by level (`--max-txn-ops`). A level counts as the largest of
//! three numbers: comparisons, operations after a success, operations after a failure. The counts of nested levels add
//! up, and the sum must not exceed the flag. Nested transactions beside each other do not add up: only the largest one
//! counts. So with a flag of 128, one transaction can change 3,969 entries.

use petstore_domain::MAX_KEYS_PER_SAVE;

use crate::kv::{Op, Txn};

/// The operations of a write beside its entries: the head and [`Keys::contender`](crate::rows::Keys::contender).
const HEAD_OPS: usize = 2;
/// The largest number of entries that one row or one addition changes. An addition changes the most:
/// - the animal, and the animal by its status,
/// - the record, and the record by its animal,
/// - the deleted index entry of a replaced record.
const ROW_ENTRIES: usize = 5;
/// The largest number of rows in one transaction. etcd's gateway takes some 0.1 ms for an entry on a busy machine, and
/// other writes wait meanwhile.
const MAX_ROWS: usize = 128;
/// The number of rows that [`Archive::max_batch`](petstore_domain::Archive::max_batch) promises at least.
const MIN_ROWS: usize = 25;
/// The largest size of a transaction: etcd's default (`--max-request-bytes`).
const MAX_BYTES: usize = 1536 * 1024;
/// An upper bound in bytes of an animal's entry. The longest name, 255 characters of 4 bytes, makes about 1.1 KiB; the
/// rest is reserve. The head is smaller, and so are all entries of one record together.
pub(crate) const MAX_ENTRY: usize = 1536;
// The largest transaction: each addition has a status and a record, and the head is one more entry.
const _: () = assert!((3 * MAX_ROWS + 1) * MAX_ENTRY <= MAX_BYTES);
// The ports promise `MIN_ROWS` even with the fewest operations.
const _: () = assert!(MaxOps::MIN.rows() >= MIN_ROWS);
const _: () = assert!(MaxOps::MIN.entries() >= MAX_KEYS_PER_SAVE);

/// The number of operations that a transaction of this crate may have: as far as this process knows, the nodes take so
/// many (`--max-txn-ops`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MaxOps(pub(crate) usize);

impl MaxOps {
    /// etcd's default.
    pub(crate) const DEFAULT: Self = Self(128);
    /// The smallest limit that keeps the promises of the ports.
    pub(crate) const MIN: Self = Self(16);

    /// Returns the number of nested levels that a large write requires. Two levels suffice for [`MAX_ROWS`] unless etcd
    /// accepts only few operations.
    const fn levels(self) -> usize {
        if self.0 < 64 { 4 } else { 2 }
    }

    /// Returns the largest number of entries that a write compares beside the head.
    pub(crate) const fn comparisons(self) -> usize {
        (self.0 - HEAD_OPS) / self.levels()
    }

    /// Returns the largest number of entries that one transaction changes.
    pub(crate) const fn entries(self) -> usize {
        capacity(self.0 - HEAD_OPS, self.levels())
    }

    /// Returns the largest number of rows or additions in one transaction. One more entry, the expiry entry, names all
    /// their records.
    pub(crate) const fn rows(self) -> usize {
        let rows = (self.entries() - 1) / ROW_ENTRIES;
        if rows < MAX_ROWS { rows } else { MAX_ROWS }
    }

    /// Puts up to [`entries`](Self::entries) operations into as few levels as hold them.
    pub(crate) fn nested(self, ops: &[Op]) -> Vec<Op> {
        nested(ops, self.0 - HEAD_OPS, self.levels())
    }
}

/// Returns the number of operations that fit into `levels` levels, which count as `ops` together.
const fn capacity(ops: usize, levels: usize) -> usize {
    let width = ops / levels;
    if levels == 1 { width } else { width * capacity(ops - width, levels - 1) }
}

fn nested(ops: &[Op], room: usize, levels: usize) -> Vec<Op> {
    let width = room / levels;
    if ops.len() <= width || levels == 1 {
        return ops.to_vec();
    }
    let part = |part: &[Op]| {
        let success = nested(part, room - width, levels - 1);
        Op::Txn(Txn { success, ..Txn::default() })
    };
    ops.chunks(ops.len().div_ceil(width)).map(part).collect()
}
