//! What an upgrade of a store's schema does.

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
