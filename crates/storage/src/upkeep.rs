//! The findings of a store check, and the report of a schema upgrade.

use crate::schema::Step;

/// The result of checking one subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The subject in a word or two, for example `durability`.
    pub subject: String,
    /// The severity for an operator.
    pub severity: Severity,
    /// One line: the state, or the problem and its repair.
    pub detail: String,
}

/// The severity of a [`Finding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// There is nothing to do.
    Ok,
    /// The store works, but an operator should know.
    Warning,
    /// Something is broken.
    Error,
}

impl Finding {
    /// Makes a finding of severity [`Ok`](Severity::Ok).
    #[must_use]
    pub fn ok(subject: &str, detail: impl Into<String>) -> Self {
        Self::new(subject, Severity::Ok, detail)
    }

    /// Makes a finding of severity [`Warning`](Severity::Warning).
    #[must_use]
    pub fn warning(subject: &str, detail: impl Into<String>) -> Self {
        Self::new(subject, Severity::Warning, detail)
    }

    /// Makes a finding of severity [`Error`](Severity::Error).
    #[must_use]
    pub fn error(subject: &str, detail: impl Into<String>) -> Self {
        Self::new(subject, Severity::Error, detail)
    }

    fn new(subject: &str, severity: Severity, detail: impl Into<String>) -> Self {
        Self { subject: subject.to_owned(), severity, detail: detail.into() }
    }
}

/// The mode of an upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpgradeMode {
    /// Reports the steps and changes nothing.
    DryRun,
    /// Runs the steps. An incompatible step is refused while another process uses the store.
    Run,
    /// Runs every step, even while another process uses the store.
    Force,
}

/// The steps that a schema upgrade has run, or would run. `steps` is empty if there is nothing to upgrade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upgrade {
    /// The schema version before the upgrade.
    pub from: i64,
    /// The steps in their order.
    pub steps: Vec<Step>,
    /// The path of the copy that the upgrade makes before the first step, if the store is a file.
    pub saved_to: Option<String>,
}

impl Upgrade {
    /// Makes the report of an upgrade from the schema version `from`. The upgrade runs the newer steps of `steps`.
    #[must_use]
    pub fn plan(from: i64, steps: &[Step]) -> Self {
        let pending = steps.iter().filter(|step| step.version > from);
        Self { from, steps: pending.copied().collect(), saved_to: None }
    }
}
