//! Bounds, and the figures behind them.

use std::time::Duration;

use super::journal::Kind;

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
/// What a slow machine may need besides.
pub(crate) const SLACK: Duration = Duration::from_secs(15);
/// What a slow machine may need besides for an answer that waits for nothing.
pub(crate) const SHORT_SLACK: Duration = Duration::from_secs(3);

/// Holds that something took no longer than it may, and tells how long it took.
#[track_caller]
pub(crate) fn hold(what: &str, took: Duration, bound: Duration, slack: Duration) {
    petstore_testing::say(&format!("failover: {what}: {took:.2?} (the aim is {bound:?})"));
    assert!(took <= bound + slack, "{what}: {took:?}, although {bound:?} is the aim");
}

/// How long a request may take, whatever happens to the store.
pub(crate) fn deadline(kind: Kind) -> Duration {
    match kind {
        Kind::Add | Kind::Read | Kind::Ready => CALL,
        // Reading the keys is a call of its own.
        Kind::AddWithStoredKey | Kind::ReadWithStoredKey => 2 * CALL,
        Kind::Live => Duration::from_secs(1),
    }
}
