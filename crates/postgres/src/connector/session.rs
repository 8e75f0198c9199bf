//! The settings of a session.

use std::time::Duration;

use crate::config::Parameters;

/// How long one batch of a whole store may take.
const ARCHIVE_TIMEOUT: Duration = Duration::from_mins(2);

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Short statements.
    Calls,
    /// Moving a whole store, or creating its tables.
    Archive,
}

impl Purpose {
    /// How long the network and the server together may take for one statement.
    pub(crate) fn timeout(self, parameters: &Parameters) -> Duration {
        match self {
            Self::Calls => parameters.call_timeout,
            Self::Archive => ARCHIVE_TIMEOUT,
        }
    }
}

/// A server must not hold the locks of a client that has vanished until the system's own keep-alive
/// of two hours: it is asked after 10 seconds, and gone after 30.
const KEEPALIVES: &str = "('tcp_keepalives_idle', '10'), ('tcp_keepalives_interval', '5'), \
     ('tcp_keepalives_count', '4')";

/// A short statement is planned once, perhaps while its table is still small, and must not read all
/// of the table when it has grown: plans use indexes from the start. What no index serves then has
/// such a cost on paper that the server would compile it, which takes longer than running it.
const SHORT_STATEMENTS: &str = ", ('enable_seqscan', 'off'), ('enable_hashjoin', 'off'), \
     ('enable_mergejoin', 'off'), ('jit', 'off')";

/// The SQL that sets a session up. A setting that the server does not have is passed over.
pub(super) fn settings(parameters: &Parameters, purpose: Purpose) -> String {
    let (statement, idle, plans) = match purpose {
        // A client that stalls inside a transaction must not hold up the others.
        Purpose::Calls => (parameters.statement_timeout, parameters.call_timeout, SHORT_STATEMENTS),
        // A restore that holds locks limits its own idle time.
        Purpose::Archive => (ARCHIVE_TIMEOUT, Duration::ZERO, ""),
    };
    let schema = parameters.schema.as_ref().map_or_else(String::new, |schema| {
        format!("SET search_path = \"{}\";", schema.replace('"', "\"\""))
    });
    format!(
        "SET statement_timeout = {}; SET idle_in_transaction_session_timeout = {}; {schema} \
         SELECT set_config('synchronous_commit', 'on', false) \
         WHERE current_setting('synchronous_commit') = 'off'; \
         SELECT set_config(name, v.value, false) FROM (VALUES {KEEPALIVES}{plans}) \
         AS v (name, value) JOIN pg_catalog.pg_settings USING (name)",
        statement.as_millis(),
        idle.as_millis()
    )
}
