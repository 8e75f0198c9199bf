//! Limits that both versions of HTTP share.

/// The largest head of a request, in bytes.
pub(super) const MAX_HEAD: u32 = 16 * 1024;
