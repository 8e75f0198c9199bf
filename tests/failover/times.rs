//! Time limits, and the assertion that checks them.

use std::time::Duration;

use crate::load::journal::Kind;

/// The time limit for a call (`call_timeout` of the store's URL). A request with an API key of the store may need a
/// second call, which reads the keys.
pub(crate) const CALL: Duration = Duration::from_secs(5);
/// The time limit for the first success after the store's servers work again.
pub(crate) const RECOVERY: Duration = Duration::from_secs(5);
/// The time for which a cached page may be sent without a call of the store. Writes of other instances show by then.
pub(crate) const KNOWN: Duration = Duration::from_millis(100);
/// The time for which `/readyz` may repeat its answer without a call of the store.
pub(crate) const KNOWN_READY: Duration = Duration::from_secs(1);

/// The measuring error: the client's next poll, and the kernel.
const MEASURING: Duration = Duration::from_millis(200);

/// Prints `took`, and asserts that it is at most `limit` plus [`MEASURING`].
#[track_caller]
pub(crate) fn hold(what: &str, took: Duration, limit: Duration) {
    petstore_testing::say(&format!("failover: {what}: {took:.2?} (at most {limit:?})"));
    assert!(took <= limit + MEASURING, "{what}: {took:.2?}, although {limit:?} is promised");
}

/// Returns the time limit for a request, also during an outage.
pub(crate) fn deadline(kind: Kind) -> Duration {
    match kind {
        Kind::Add | Kind::Read | Kind::ReadTail | Kind::Ready => CALL,
        // Reading the keys is another call.
        Kind::AddWithStoredKey | Kind::ReadWithStoredKey => 2 * CALL,
        Kind::Live => Duration::from_secs(1),
    }
}
