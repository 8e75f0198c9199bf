//! What the upkeep of a store says: the findings of an examination, and the steps of an upgrade of its schema.

/// One thing that was examined, and what is to be said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was examined, in a word or two: for example `durability`.
    pub subject: String,
    /// Whether anything is to be done.
    pub severity: Severity,
    /// One line: what is so, or what is wrong and how to mend it.
    pub detail: String,
}

/// Whether a [`Finding`] needs anybody to do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// All is as it should be.
    Good,
    /// It works, but an operator should know.
    Warning,
    /// Something is broken.
    Fault,
}

impl Finding {
    /// Says that all is as it should be.
    #[must_use]
    pub fn good(subject: &str, detail: impl Into<String>) -> Self {
        Self::new(subject, Severity::Good, detail)
    }

    /// Says that it works, but an operator should know.
    #[must_use]
    pub fn warning(subject: &str, detail: impl Into<String>) -> Self {
        Self::new(subject, Severity::Warning, detail)
    }

    /// Says that something is broken.
    #[must_use]
    pub fn fault(subject: &str, detail: impl Into<String>) -> Self {
        Self::new(subject, Severity::Fault, detail)
    }

    fn new(subject: &str, severity: Severity, detail: impl Into<String>) -> Self {
        Self { subject: subject.to_owned(), severity, detail: detail.into() }
    }
}

/// How an upgrade is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpgradeMode {
    /// Only says what would be done.
    DryRun,
    /// Does it, but no step that cannot run beside an older release while others use the store.
    Run,
    /// Does every step, whoever uses the store.
    Force,
}

/// What an upgrade of a store's schema did, or would do. There are no steps where the schema is that of
/// this release, or a newer one that this release can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upgrade {
    /// The version of the schema before.
    pub from: i64,
    /// In their order.
    pub steps: Vec<UpgradeStep>,
    /// Where the store was saved before its first step, if it is a file.
    pub saved_to: Option<String>,
}

/// One step, which is one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpgradeStep {
    /// The version of the schema after it.
    pub version: i64,
    /// What it changes, in a few words.
    pub summary: &'static str,
    /// The oldest release that can use the store after it.
    pub oldest_release: &'static str,
    /// Whether releases that know the version before can go on using the store, during the step and
    /// after it.
    pub is_compatible: bool,
}
