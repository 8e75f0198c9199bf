//! The limits of one transaction.

/// The largest number of operations in one transaction: etcd's default (`--max-txn-ops`). etcd counts the comparisons,
/// the operations of a success and those of a failure each for themselves.
pub(crate) const MAX_OPS: usize = 128;
/// Operations of every write: the head and [`Keys::contender`](crate::rows::Keys::contender).
pub(crate) const HEAD_OPS: usize = 2;
/// Operations that are left for entries. An addition takes 1, one more with a status, and two more with an idempotency
/// key; all keys of a transaction together take one. So a transaction holds 126 additions, 63 with a status, 41 with a
/// key, or 31 with both.
pub(crate) const ENTRY_OPS: usize = MAX_OPS - HEAD_OPS;
/// The largest size of a transaction: etcd's default (`--max-request-bytes`).
const MAX_BYTES: usize = 1536 * 1024;
/// The largest size of an entry: an animal with the longest name, 255 characters of 4 bytes, or the head.
const MAX_ENTRY: usize = 1536;
// A transaction with few enough operations is never too large.
const _: () = assert!(MAX_OPS * MAX_ENTRY <= MAX_BYTES);
