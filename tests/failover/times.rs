//! Bounds, and the figures behind them.

use std::time::Duration;

use petstore_testing::Bound;

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

/// Holds that something took no longer than it may, on a machine that was quiet since `bound` began, and tells how
/// long it took.
#[track_caller]
pub(crate) fn hold(bound: &Bound, what: &str, took: Duration, limit: Duration) {
    petstore_testing::say(&format!("failover: {what}: {took:.2?} (at most {limit:?})"));
    bound.hold(what, took, limit);
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
