//! How many files the process may have open at a time, and how many of them connections may take.

use std::num::NonZeroUsize;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::failure::Failure;

/// What the service would like to have besides connections: for the store's files, the log, the
/// listener, and whatever else a store opens.
const OWN_FILES: u64 = 1000;
/// What connections never take. Measured on two processors, with 64 clients: besides their connections
/// the service had 24 files open on SQLite, and 29 on PostgreSQL with its pool of 16.
const RESERVED_FILES: u64 = 48;

/// Raises the soft limit, as far as the hard one lets it, to what so many connections need. Common
/// soft limits are far below, and a process without a free descriptor cannot read its store either.
///
/// Returns how many connections may be served at once: fewer than `max_connections` if the limit leaves
/// too little for the store.
pub(crate) fn raise_for(max_connections: NonZeroUsize) -> Result<NonZeroUsize, Failure> {
    let wanted = OWN_FILES.saturating_add(max_connections.get() as u64);
    let Some(limit) = raise_to(wanted) else { return Ok(max_connections) };
    if limit >= wanted {
        return Ok(max_connections);
    }
    let connections = connections_within(limit, max_connections).ok_or_else(|| {
        Failure::runtime(format_args!(
            "only {limit} files may be open, and serving needs at least {}; \
             raise the limit on open files (ulimit -n)",
            RESERVED_FILES + 1
        ))
    })?;
    tracing::warn!(
        limit,
        wanted,
        connections,
        "fewer files may be open than --max-connections needs; so many connections are served at once"
    );
    Ok(connections)
}

/// The soft limit, after it was raised towards `wanted`; `None` if there is none.
fn raise_to(wanted: u64) -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let current = current?;
    if current >= wanted {
        return Some(current);
    }
    let possible = maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let raised = Rlimit { current: Some(possible), maximum };
    Some(if setrlimit(Resource::Nofile, raised).is_ok() { possible } else { current })
}

/// How many connections leave the service its own files; `None` if not even one does.
fn connections_within(limit: u64, max_connections: NonZeroUsize) -> Option<NonZeroUsize> {
    let left = usize::try_from(limit.saturating_sub(RESERVED_FILES)).unwrap_or(usize::MAX);
    NonZeroUsize::new(left.min(max_connections.get()))
}
