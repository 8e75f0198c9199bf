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

/// A short statement must not read all of a table. It may be planned while its table is still small, or
/// before the server knows how it has grown: plans use indexes from the start. What no index serves then
/// has such a cost on paper that the server would compile it, which takes longer than running it. As such
/// a plan does not depend on the values, it is made once: the server would plan a page anew each time, for
/// its limit, which takes longer than reading it.
const FOR_SHORT_STATEMENTS: [(&str, &str); 5] = [
    ("enable_seqscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("jit", "off"),
    ("plan_cache_mode", "force_generic_plan"),
];

/// The SQL that sets up a session of our own. A setting that the server does not have is passed over.
pub(super) fn of_session(parameters: &Parameters, purpose: Purpose) -> String {
    let plans = plans(purpose).iter().map(|(name, value)| format!(", ('{name}', '{value}')"));
    let plans: String = plans.collect();
    format!(
        "{}; SELECT set_config(name, v.value, false) FROM (VALUES {KEEPALIVES}{plans}) \
         AS v (name, value) JOIN pg_catalog.pg_settings USING (name)",
        for_all(parameters, purpose, "SESSION", false)
    )
}

/// The SQL that sets up one transaction in a session that a pooler shares out. How the server looks for
/// vanished clients is the pooler's setting there.
pub(super) fn of_transaction(parameters: &Parameters, purpose: Purpose) -> String {
    let plans = plans(purpose).iter().map(|(name, value)| format!("; SET LOCAL {name} = {value}"));
    let plans: String = plans.collect();
    for_all(parameters, purpose, "LOCAL", true) + &plans
}

fn plans(purpose: Purpose) -> &'static [(&'static str, &'static str)] {
    match purpose {
        Purpose::Calls => &FOR_SHORT_STATEMENTS,
        Purpose::Archive => &[],
    }
}

/// The warning of a commit that did not wait for its standby must arrive, whatever the role's own settings are.
fn for_all(parameters: &Parameters, purpose: Purpose, scope: &str, is_local: bool) -> String {
    let (statement, idle) = match purpose {
        // A client that stalls inside a transaction must not hold up the others.
        Purpose::Calls => (parameters.statement_timeout, parameters.call_timeout),
        // A restore that holds locks limits its own idle time.
        Purpose::Archive => (ARCHIVE_TIMEOUT, Duration::ZERO),
    };
    let schema = parameters.schema.as_ref().map_or_else(String::new, |schema| {
        format!("SET {scope} search_path = \"{}\";", schema.replace('"', "\"\""))
    });
    format!(
        "SET {scope} statement_timeout = {}; \
         SET {scope} idle_in_transaction_session_timeout = {}; \
         SET {scope} client_min_messages = warning; {schema} \
         SELECT set_config('synchronous_commit', 'on', {is_local}) \
         WHERE current_setting('synchronous_commit') = 'off'",
        statement.as_millis(),
        idle.as_millis()
    )
}
