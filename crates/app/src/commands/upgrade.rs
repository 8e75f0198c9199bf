//! The command `upgrade`, and the upgrade at the start of `serve`.

use clap::Args;
use petstore_storage::{Step, Upgrade, UpgradeMode};

use crate::{
    stores::{StoreArgs, StoreLocation},
    system::{Console, Failure, Output as _, process},
};

/// The flags of `upgrade`.
#[derive(Args)]
pub(crate) struct UpgradeArgs {
    /// Preview of the upgrade; nothing is changed
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Upgrade although other processes use the store
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Upgrades the store, or prints what the upgrade would do.
pub(crate) async fn run(UpgradeArgs { dry_run, force, store }: UpgradeArgs) -> Result<(), Failure> {
    process::survive_file_size_limit()?;
    let mode = match (dry_run, force) {
        (true, _) => UpgradeMode::DryRun,
        (false, true) => UpgradeMode::Force,
        (false, false) => UpgradeMode::Run,
    };
    let location = &*store.store.location;
    let upgrade = location.upgrade(mode).await.map_err(Failure::of_store)?;
    let upgrade = upgrade.ok_or_else(|| {
        Failure::runtime(format!("there is no store at {location}; 'petstore serve' creates one"))
    })?;
    Console.print(account(&upgrade, mode, &location.to_string()))
}

/// Upgrades a store before it is served, and logs the upgrade.
pub(crate) async fn before_serving(location: &dyn StoreLocation) -> Result<(), Failure> {
    let upgrade = location.upgrade(UpgradeMode::Run).await.map_err(Failure::of_store)?;
    if let Some(Upgrade { from, steps, saved_to }) = upgrade
        && let Some(last) = steps.last()
    {
        let (to, oldest_release) = (last.version, last.oldest_release);
        let saved_to = saved_to.as_deref();
        tracing::info!(from, to, oldest_release, saved_to, "upgraded the schema of the store");
    }
    Ok(())
}

/// Returns the output of the command: the steps, and the path of the saved copy.
fn account(Upgrade { from, steps, saved_to }: &Upgrade, mode: UpgradeMode, store: &str) -> String {
    if steps.is_empty() {
        return format!("the schema of {store} is version {from}: there is nothing to do\n");
    }
    let steps: String = steps.iter().map(line).collect();
    let saved =
        |words: &str| saved_to.as_ref().map_or(String::new(), |path| format!("{words} {path}\n"));
    if mode == UpgradeMode::DryRun {
        let saved = saved("first, the store is copied to");
        return format!(
            "{saved}{store}, from schema version {from}:\n{steps}nothing was changed\n"
        );
    }
    let saved = saved("the store before the upgrade is in");
    format!("upgraded {store} from schema version {from}:\n{steps}{saved}")
}

fn line(step: &Step) -> String {
    let Step { version, summary, oldest_release, .. } = step;
    let alone = if step.is_compatible() { "" } else { "; no older release may use the store" };
    format!("  to {version}: {summary} (for petstore {oldest_release} and newer{alone})\n")
}

#[cfg(test)]
mod tests {
    use petstore_storage::{Step, Upgrade, UpgradeMode};

    use super::account;

    #[test]
    fn an_upgrade_names_each_step_and_the_releases_that_can_use_the_store() {
        let two = Step { oldest_release: "1.2.0", ..Step::new(5, 5, "two", "") };
        let steps = vec![Step::new(4, 3, "one", ""), two];
        let listed = "  to 4: one (for petstore 1.0.0 and newer)\n  \
                      to 5: two (for petstore 1.2.0 and newer; no older release may use the store)\n";
        let saved_to = Some("/x.before-upgrade".to_owned());
        let saved = Upgrade { from: 3, steps, saved_to };
        let nothing = Upgrade { from: 3, steps: Vec::new(), saved_to: None };
        for (upgrade, mode, before, after) in [
            (
                &nothing,
                UpgradeMode::Run,
                "the schema of x: is version 3: there is nothing to do\n",
                "",
            ),
            (
                &saved,
                UpgradeMode::Run,
                "upgraded x: from schema version 3:\n",
                "the store before the upgrade is in /x.before-upgrade\n",
            ),
            (
                &saved,
                UpgradeMode::DryRun,
                "first, the store is copied to /x.before-upgrade\nx:, from schema version 3:\n",
                "nothing was changed\n",
            ),
        ] {
            let steps = if upgrade.steps.is_empty() { "" } else { listed };
            assert_eq!(account(upgrade, mode, "x:"), format!("{before}{steps}{after}"));
        }
    }
}
