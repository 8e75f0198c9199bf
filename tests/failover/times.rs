//! Bounds, and the figures behind them.

use std::time::Duration;

use crate::load::journal::Kind;

/// A call as a whole (`call_timeout` of the store's URL). A key that is kept in the store may need
/// one such call more, before.
pub(crate) const CALL: Duration = Duration::from_secs(5);
/// Within this, the service works again once PostgreSQL does.
pub(crate) const RECOVERY: Duration = Duration::from_secs(5);
/// So long a page that was sent before may be sent again without asking PostgreSQL: the time within which
/// another instance's write shows.
pub(crate) const KNOWN: Duration = Duration::from_millis(100);
/// So long the service may say that it is ready without asking PostgreSQL again.
pub(crate) const KNOWN_READY: Duration = Duration::from_secs(1);

/// Added to each bound, as a client measures it: the next poll, and the answer's way through the kernel.
const MEASURING: Duration = Duration::from_millis(200);

/// Prints how long something took, and asserts that it was at most `limit`, as a client measures it.
#[track_caller]
pub(crate) fn hold(what: &str, took: Duration, limit: Duration) {
    petstore_testing::say(&format!("failover: {what}: {took:.2?} (at most {limit:?})"));
    assert!(took <= limit + MEASURING, "{what}: {took:.2?}, although {limit:?} is promised");
}

/// How long a request may take, whatever happens to the store.
pub(crate) fn deadline(kind: Kind) -> Duration {
    match kind {
        Kind::Add | Kind::Read | Kind::ReadTail | Kind::Ready => CALL,
        // Reading the keys is a call of its own.
        Kind::AddWithStoredKey | Kind::ReadWithStoredKey => 2 * CALL,
        Kind::Live => Duration::from_secs(1),
    }
}
