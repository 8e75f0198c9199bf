//! Parts that adapters of the storage ports share. None of them is obligatory: an adapter takes what saves it work.
//!
//! | part | for |
//! |---|---|
//! | [`writer`] | every store: the bounded queue in front of one writing task or thread, groups, deadlines, answers |
//! | [`VersionCache`], [`watch`] | `PetRepository::version` without a call to the store |
//! | [`StoreTasks`] | stores on a network: the writing task and the watcher of the version, and their end |
//! | [`PanicGuard`], [`essential`] | telling the program that a thread or a task has panicked |
//! | [`Step`], [`require_known`] | versions of a schema, upgrades, and which stores may be opened |
//! | [`Finding`], [`Upgrade`] | what `petstore check` and `petstore upgrade` print |
//! | [`opening_error`], [`error_chain`] | errors for the log and for `serve`, which waits for some of them |
//! | [`url`], [`tls`] | the URL of a store on a network, and the authorities that it trusts |
//!
//! # Versions of a schema
//! A new store is made by the same steps that upgrade an old one, so both are alike. What
//! a released step does never changes; another change of the schema is another step.
//!
//! A store says two versions: its own, and the oldest that it can be used as. A release opens a store
//! whose oldest version it knows, so it goes on with a store that a newer release has upgraded, as long
//! as no step of that upgrade forbids it. A step that does forbid it must change what the older
//! release's statements use, such as the name of a table: such a process may be opening the store at that very
//! moment.

mod failure;
mod panics;
mod tasks;
pub mod tls;
mod upkeep;
pub mod url;
mod version_cache;
pub mod writer;

pub use failure::{error_chain, opening_error};
pub use panics::{PanicGuard, essential};
pub use tasks::StoreTasks;
pub use upkeep::{Finding, Severity, Upgrade, UpgradeMode, UpgradeStep};
pub use version_cache::{StoredVersion, VersionCache, watch};

/// The release that this is.
const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// From one version of the schema to the next. It runs in one transaction.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The version after it.
    pub version: i64,
    /// The change, in a few words.
    pub summary: &'static str,
    /// The statements.
    pub sql: &'static str,
    /// The oldest version whose releases can use the store after it.
    pub oldest: i64,
    /// The first release that knows that version.
    pub oldest_release: &'static str,
    /// Selects a text for each row that a new constraint would refuse, at most ten. It is asked before the
    /// first step of an upgrade, so it is about tables that every older version has.
    pub offending: Option<&'static str>,
}

impl Step {
    /// Returns a step beside which every release goes on, from the first one, which made version `oldest`.
    #[must_use]
    pub const fn new(version: i64, oldest: i64, summary: &'static str, sql: &'static str) -> Self {
        Self { version, summary, sql, oldest, oldest_release: "1.0.0", offending: None }
    }

    /// Returns the same step, which is not taken while `sql` selects a row.
    #[must_use]
    pub const fn unless(self, sql: &'static str) -> Self {
        Self { offending: Some(sql), ..self }
    }

    /// Returns whether an older release goes on beside it.
    #[must_use]
    pub fn is_compatible(&self) -> bool {
        self.oldest < self.version
    }

    /// Returns the step for people.
    #[must_use]
    pub fn describe(&self) -> UpgradeStep {
        UpgradeStep {
            version: self.version,
            summary: self.summary,
            oldest_release: self.oldest_release,
            is_compatible: self.is_compatible(),
        }
    }

    /// Refuses the step if there are rows that it would refuse.
    ///
    /// # Errors
    /// [`SchemaError::Offending`].
    pub fn require_none(&self, offending: &[String]) -> Result<(), SchemaError> {
        if offending.is_empty() {
            return Ok(());
        }
        Err(SchemaError::Offending { version: self.version, rows: offending.join(", ") })
    }
}

/// Why a store is not opened or upgraded. It stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// An older petstore has made it, and it can be upgraded.
    #[error(
        "its schema is version {actual}, and petstore {RELEASE} needs version {known}: upgrade it with \
         'petstore upgrade' and the same --store"
    )]
    Older {
        /// The version of the store.
        actual: i64,
        /// The version of this release.
        known: i64,
    },
    /// A petstore that was never released has made it.
    #[error(
        "its schema is version {actual}, older than any that petstore {RELEASE} can upgrade (version {first}); \
         it was left untouched: use the petstore that made it"
    )]
    TooOld {
        /// The version of the store.
        actual: i64,
        /// The first that was released.
        first: i64,
    },
    /// A newer petstore has made it, or upgraded it.
    #[error(
        "its schema cannot be used below version {oldest}, and petstore {RELEASE} knows version {known}; it \
         was left untouched: use petstore {release}, or the copy or backup that was made before its upgrade"
    )]
    TooNew {
        /// The oldest version that it can be used as.
        oldest: i64,
        /// The version of this release.
        known: i64,
        /// Which releases know it.
        release: String,
    },
    /// Rows that a new rule refuses.
    #[error(
        "schema version {version} refuses {rows}; correct or delete these rows with SQL, and run it again"
    )]
    Offending {
        /// The version that was to be reached.
        version: i64,
        /// The first ten, described.
        rows: String,
    },
    /// A step must run alone.
    #[error("the step to schema version {version} cannot run beside an older release, and {who}")]
    InUse {
        /// The version that was to be reached.
        version: i64,
        /// Who may be there, and what to do.
        who: &'static str,
    },
}

/// Refuses a store that cannot be used as one of the versions of `steps`. `oldest` is what it says of itself;
/// `release` reads the first release that knows that version.
///
/// # Errors
/// [`SchemaError`].
pub fn require_known(
    steps: &[Step],
    oldest: i64,
    release: impl FnOnce() -> Option<String>,
) -> Result<(), SchemaError> {
    let version = |step: Option<&Step>| step.map_or(0, |step| step.version);
    let (first, known) = (version(steps.first()), version(steps.last()));
    if oldest < first {
        return Err(SchemaError::TooOld { actual: oldest, first });
    }
    if oldest > known {
        let release = release().map(|name| format!("{name} or newer"));
        let release = release.unwrap_or_else(|| "of a newer release".to_owned());
        return Err(SchemaError::TooNew { oldest, known, release });
    }
    Ok(())
}
