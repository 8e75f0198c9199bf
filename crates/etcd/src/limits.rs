//! The limits of one transaction. etcd counts operations by level (`--max-txn-ops`): a level counts as the largest of
//! its comparisons, its operations after a success, and its operations after a failure. The deepest chain of levels may
//! count up to the flag. Nested transactions beside each other do not add up, so two levels hold 3,969 operations.

use petstore_domain::MAX_KEYS_PER_SAVE;

use crate::kv::{Op, Txn};

/// The smallest `--max-txn-ops` that a node may have: etcd's default.
pub(crate) const MAX_OPS: usize = 128;
/// The operations of a write beside its entries: the head and [`Keys::contender`](crate::rows::Keys::contender).
const HEAD_OPS: usize = 2;
/// The largest number of comparisons or operations in each of two levels, beside the head.
pub(crate) const LEVEL_OPS: usize = (MAX_OPS - HEAD_OPS) / 2;
/// The largest number of entries that one row changes: an animal, the animal by its status, a record, the record by its
/// animal, and the deleted index entry of a replaced record.
const ROW_ENTRIES: usize = 5;
/// The largest number of rows or additions in one transaction. etcd's gateway takes some 0.1 ms for an entry on a busy
/// machine, and other writes wait meanwhile.
pub(crate) const MAX_ROWS: usize = 128;
/// The largest size of a transaction: etcd's default (`--max-request-bytes`).
const MAX_BYTES: usize = 1536 * 1024;
/// An upper bound in bytes of an animal's entry. The longest name, 255 characters of 4 bytes, makes about 1.1 KiB; the
/// rest is reserve. The head is smaller, and so are all entries of one record together.
const MAX_ENTRY: usize = 1536;
// The largest transaction: each row is an animal with a status and a record, and the head is one more entry.
const _: () = assert!((3 * MAX_ROWS + 1) * MAX_ENTRY <= MAX_BYTES);
// One more entry names all records of a transaction.
const _: () = assert!(ROW_ENTRIES * MAX_ROWS < LEVEL_OPS * LEVEL_OPS);
const _: () = assert!(MAX_KEYS_PER_SAVE <= MAX_ROWS);

/// Puts operations into two levels if they do not fit into one.
pub(crate) fn nested(ops: Vec<Op>) -> Vec<Op> {
    if ops.len() <= LEVEL_OPS {
        return ops;
    }
    let part = |part: &[Op]| Op::Txn(Txn { success: part.to_vec(), ..Txn::default() });
    ops.chunks(LEVEL_OPS).map(part).collect()
}
