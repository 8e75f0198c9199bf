//! How many files the process may have open at a time.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Besides connections: the store's files, the log, the listener.
const OWN_FILES: u64 = 1000;

/// Raises the soft limit, as far as the hard one lets it, to what so many connections need. Common
/// soft limits are far below, and a process without a free descriptor cannot read its store either.
pub(crate) fn raise_for(connections: usize) {
    let wanted = OWN_FILES.saturating_add(connections as u64);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= wanted) {
        return;
    }
    let possible = maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let raised = Rlimit { current: Some(possible), maximum };
    let limit = if setrlimit(Resource::Nofile, raised).is_ok() { Some(possible) } else { current };
    if limit < Some(wanted) {
        tracing::warn!(limit, wanted, "fewer files may be open than --max-connections needs");
    }
}
