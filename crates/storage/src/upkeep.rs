//! The findings of an examination of a store, and the steps of an upgrade of its schema.

/// The result of examining one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The thing that was examined, in a word or two: for example `durability`.
    pub subject: String,
    /// The severity for an operator.
    pub severity: Severity,
    /// One line: the state, or the fault and how to repair it.
    pub detail: String,
}

/// The need for an operator to act on a [`Finding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Nothing is to be done.
    Ok,
    /// The store works, but an operator should know.
    Warning,
    /// Something is broken.
    Error,
}

impl Finding {
    /// Makes a finding that needs nothing to be done.
    #[must_use]
    pub fn ok(subject: &str, detail: impl Into<String>) -> Self {
        Self::new(subject, Severity::Ok, detail)
    }

    /// Makes a finding that an operator should know.
    #[must_use]
    pub fn warning(subject: &str, detail: impl Into<String>) -> Self {
        Self::new(subject, Severity::Warning, detail)
    }

    /// Makes a finding of something that is broken.
    #[must_use]
    pub fn error(subject: &str, detail: impl Into<String>) -> Self {
        Self::new(subject, Severity::Error, detail)
    }

    fn new(subject: &str, severity: Severity, detail: impl Into<String>) -> Self {
        Self { subject: subject.to_owned(), severity, detail: detail.into() }
    }
}

/// How an upgrade is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpgradeMode {
    /// Reports the steps and changes nothing.
    DryRun,
    /// Runs the steps, but none that is incompatible with older releases while others use the store.
    Run,
    /// Runs every step, also while others use the store.
    Force,
}

/// The steps that an upgrade of a store's schema ran, or would run. There is none if the schema is that of
/// this release, or a newer one that this release can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upgrade {
    /// The version of the schema before.
    pub from: i64,
    /// The steps in their order.
    pub steps: Vec<UpgradeStep>,
    /// Where the store was saved before its first step, if it is a file.
    pub saved_to: Option<String>,
}

/// One step of an upgrade: one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpgradeStep {
    /// The version of the schema after it.
    pub version: i64,
    /// The change in a few words.
    pub summary: &'static str,
    /// The oldest release that can use the store after it.
    pub oldest_release: &'static str,
    /// `true` if releases that know the version before can go on using the store, during the step and
    /// after it.
    pub is_compatible: bool,
}
