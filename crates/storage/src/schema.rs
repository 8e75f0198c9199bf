//! Schema versions, and the check whether a store may be opened.

/// The version of petstore itself, such as `2.0.0`, which is no schema version.
const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// A step from one schema version to the next, which runs in one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The schema version after the step.
    pub version: i64,
    /// The change in a few words.
    pub summary: &'static str,
    /// The SQL statements.
    pub sql: &'static str,
    /// The oldest schema version whose releases can use the store after the step.
    pub oldest: i64,
    /// The first release that knows the version `oldest`.
    pub oldest_release: &'static str,
    /// A query that returns a description of each row that the step would refuse, at most ten. The query runs before
    /// the first step of an upgrade, so it uses only tables that every older version has.
    pub offending: Option<&'static str>,
}

impl Step {
    /// Makes a step whose `oldest_release` is 1.0.0.
    #[must_use]
    pub const fn new(version: i64, oldest: i64, summary: &'static str, sql: &'static str) -> Self {
        Self { version, summary, sql, oldest, oldest_release: "1.0.0", offending: None }
    }

    /// Returns the step with another [`oldest_release`](Self::oldest_release).
    #[must_use]
    pub const fn since(self, oldest_release: &'static str) -> Self {
        Self { oldest_release, ..self }
    }

    /// Returns the step with the query [`offending`](Self::offending): the step is refused while `sql` selects a row.
    #[must_use]
    pub const fn unless(self, sql: &'static str) -> Self {
        Self { offending: Some(sql), ..self }
    }

    /// Returns whether an older release can use the store after the step.
    #[must_use]
    pub fn is_compatible(&self) -> bool {
        self.oldest < self.version
    }

    /// Requires that the query [`offending`](Self::offending) has found no row.
    ///
    /// # Errors
    /// [`SchemaError::Offending`] if `offending` describes a row.
    pub fn require_none(&self, offending: &[String]) -> Result<(), SchemaError> {
        if offending.is_empty() {
            return Ok(());
        }
        Err(SchemaError::Offending { version: self.version, rows: offending.join(", ") })
    }
}

/// The reason why a store is not opened or upgraded. The store stays unchanged.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// The store has an older schema, which can be upgraded.
    #[error(
        "its schema is version {actual}, and petstore {RELEASE} needs version {known}: upgrade it with \
         'petstore upgrade' and the same --store"
    )]
    Older {
        /// The schema version of the store.
        actual: i64,
        /// The schema version of this release.
        known: i64,
    },
    /// The schema of the store is older than the first released schema.
    #[error(
        "its schema is version {actual}, older than any that petstore {RELEASE} can upgrade (version {first}); \
         it was left untouched: use the petstore that made it"
    )]
    TooOld {
        /// The schema version of the store.
        actual: i64,
        /// The first released schema version.
        first: i64,
    },
    /// The store has the schema of a newer release, which this release cannot use.
    #[error(
        "its schema cannot be used below version {oldest}, and petstore {RELEASE} knows version {known}; it \
         was left untouched: use petstore {release}, or the copy or backup that was made before its upgrade"
    )]
    TooNew {
        /// The oldest schema version whose releases can use the store.
        oldest: i64,
        /// The schema version of this release.
        known: i64,
        /// The releases that can use the store.
        release: String,
    },
    /// Rows break a new rule of the schema.
    #[error(
        "schema version {version} refuses {rows}; correct or delete these rows with SQL, and upgrade again"
    )]
    Offending {
        /// The schema version after the step.
        version: i64,
        /// Descriptions of up to ten rows.
        rows: String,
    },
    /// A step must run alone, and another process may use the store.
    #[error("the step to schema version {version} cannot run beside an older release, and {who}")]
    InUse {
        /// The schema version after the step.
        version: i64,
        /// The other process, and what to do.
        who: &'static str,
    },
}

/// Requires that this release, whose schema versions are `steps`, can use a store. `oldest` is the oldest schema
/// version whose releases can use the store, and `release` reads the first release that knows `oldest`.
///
/// # Errors
/// [`SchemaError::TooNew`] if the store needs a newer release, and [`SchemaError::TooOld`] if no release made
/// the store.
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

#[cfg(test)]
mod tests {
    use super::Step;

    #[test]
    fn a_step_is_compatible_if_a_release_may_know_only_an_older_version() {
        let is_compatible = |oldest| Step::new(3, oldest, "", "").is_compatible();
        assert_eq!([1, 2, 3].map(is_compatible), [true, true, false]);
    }
}
