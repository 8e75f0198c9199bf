//! No core dumps: the memory of the process has API keys and the passwords of store URLs.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Sets the soft limit on the size of a core dump to 0. The hard one stays, so that who may look into the
/// process can raise it again (prlimit(1)).
pub(crate) fn disable() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Core);
    // To lower a limit is always permitted.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum });
}
