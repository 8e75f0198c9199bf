//! Limits that the system sets for the process: on the size of a core dump, and on open files.

use std::num::NonZeroUsize;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::failure::Failure;

/// Open files that the service would like to have besides connections: for the store, the log, the listeners.
const OWN_FILES: u64 = 1000;
/// Open files that connections never take. Measured on two processors, with 64 clients: besides their
/// connections the service had 24 files open on SQLite, and 29 on PostgreSQL with its pool of 16.
const RESERVED_FILES: u64 = 48;

/// Sets the soft limit on the size of a core dump to 0: the memory of the process has API keys and the passwords
/// of store URLs. The hard limit stays, so that who may look into the process can raise the soft one again
/// (prlimit(1)).
pub(crate) fn disable_core_dumps() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Core);
    // To lower a limit is always permitted.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum });
}

/// Raises the soft limit on open files, as far as the hard one lets it, to what `max_connections` need.
/// Common soft limits are far below, and a process without a free descriptor cannot read its store either.
///
/// Returns how many connections may be served at once: fewer than `max_connections` if the limit leaves
/// too little for the store.
pub(crate) fn raise_open_files(max_connections: NonZeroUsize) -> Result<NonZeroUsize, Failure> {
    let wanted = OWN_FILES.saturating_add(max_connections.get() as u64);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let possible = maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let mut limit = current.unwrap_or(u64::MAX);
    if limit < possible
        && setrlimit(Resource::Nofile, Rlimit { current: Some(possible), maximum }).is_ok()
    {
        limit = possible;
    }
    if limit >= wanted {
        return Ok(max_connections);
    }
    let left = usize::try_from(limit.saturating_sub(RESERVED_FILES)).unwrap_or(usize::MAX);
    let connections = NonZeroUsize::new(left.min(max_connections.get())).ok_or_else(|| {
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
        "fewer files may be open than --max-connections needs; fewer connections are served at once"
    );
    Ok(connections)
}
