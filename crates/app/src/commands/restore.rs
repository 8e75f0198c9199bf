//! The command `restore`. A SQLite store becomes a copy of the backup. Any other store is filled by a handover from a
//! temporary copy of the backup, so that no service can use the store before it is complete.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use petstore_sqlite::beside;
use petstore_storage::{Severity, UpgradeMode};
use tempfile::NamedTempFile;

use crate::{
    commands::{backup, check, store},
    stores::{self, StoreArgs, StoreLocation},
    system::{
        Access, Console, Failure, IfExists, Output as _, PartialFile, Signals, quotable_path,
    },
};

/// Suffixes of the files beside an open SQLite file. If an earlier store has left such a file, it would damage the
/// restored store.
const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];
const IN_THE_WAY: &str =
    "a restore replaces no store: stop what uses it, and move it away with its -wal and -shm files";
const LOST: &str =
    "What was added since the backup is lost; revoke again the keys that were revoked since.";

/// The flags of `restore`.
#[derive(Args)]
pub(crate) struct RestoreArgs {
    /// Backup by 'petstore backup'
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
}

/// Restores the backup into a store that does not exist yet.
pub(crate) async fn run(RestoreArgs { file, store }: RestoreArgs) -> Result<(), Failure> {
    let signals = Signals::take_over()?;
    let shown = quotable_path(&file);
    let missing = || Failure::runtime(format!("there is no backup at {shown}"));
    if let Err(error) = File::open(&file)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(Failure::runtime(format!("cannot read {shown}: {error}")));
    }
    let backup = &*stores::in_file(file);
    let upgrade = backup.upgrade(UpgradeMode::DryRun).await.map_err(Failure::of_store)?;
    let is_current = upgrade.ok_or_else(missing)?.steps.is_empty();
    let location = &*store.store.location;
    let restoring = Restoring { backup, is_current, signals: &signals };
    let restoring = async {
        if is_current {
            examine(backup, &signals).await?;
        }
        match location.restore_path() {
            Some(path) => restoring.fill_file(&path).await,
            None => restoring.fill_store(location).await,
        }
    };
    let stopped = "stopped before the store was restored; run it again";
    let place = restoring.await.map_err(|failure| signals.stopped_or(stopped, failure))?;
    let is_older = !is_current && location.restore_path().is_some();
    let later = if is_older { "; 'petstore serve' upgrades its older schema" } else { "" };
    Console.print(format!("restored {shown} to {place}, found sound{later}\n"))?;
    Console.note(LOST);
    Ok(())
}

/// The restore of a backup.
struct Restoring<'a> {
    backup: &'a dyn StoreLocation,
    /// `true` if the backup has the schema version of this release.
    is_current: bool,
    signals: &'a Signals,
}

impl Restoring<'_> {
    /// Copies the backup to `path`. A backup with an older schema is copied unchanged, without a new identity. Returns
    /// the path of the store.
    async fn fill_file(&self, path: &Path) -> Result<String, Failure> {
        let partial = PartialFile::begin(path, IfExists::Refuse(IN_THE_WAY), Access::OwnerOnly)?;
        if let Some(found) = companion(path) {
            let found = quotable_path(&found);
            let why = format!("{found} belongs to an earlier store; {IN_THE_WAY}");
            return Err(Failure::runtime(why));
        }
        let copy = self.copy(partial.temporary()).await?;
        if self.is_current {
            store::give_identity(&*copy).await?;
        }
        match companion(partial.temporary()) {
            None => partial.finish(),
            Some(_) => Err(Failure::runtime("the copy could not be closed; try again")),
        }
    }

    /// Fills `target` from a copy of the backup. `target` must be empty, or contain a part of the same backup.
    async fn fill_store(&self, target: &dyn StoreLocation) -> Result<String, Failure> {
        let failed = || Failure::context("cannot copy the backup");
        let folder = tempfile::tempdir().map_err(failed())?;
        let file = NamedTempFile::new_in(&folder).map_err(failed())?;
        let copy = &*self.copy(file.path()).await?;
        if !self.is_current {
            copy.upgrade(UpgradeMode::Run).await.map_err(Failure::of_store)?;
            examine(copy, self.signals).await?;
        }
        store::run_mover((copy, target), false, self.signals).await?;
        store::give_identity(target).await?;
        Ok(target.to_string())
    }

    /// Copies the backup to the empty file `to`, and verifies the copy. Returns the location of the copy.
    async fn copy(&self, to: &Path) -> Result<Arc<dyn StoreLocation>, Failure> {
        let watch = backup::progress_of("restoring", self.signals);
        self.backup.back_up(to, watch).await.map_err(Failure::runtime)?;
        Ok(stores::in_file(to.to_owned()))
    }
}

/// Returns the first companion file of `path` that exists.
fn companion(path: &Path) -> Option<PathBuf> {
    let companions = COMPANIONS.map(|suffix| beside(path, suffix));
    companions.into_iter().find(|path| fs::symlink_metadata(path).is_ok())
}

/// Refuses a backup in which `check` finds a fault.
async fn examine(backup: &dyn StoreLocation, signals: &Signals) -> Result<(), Failure> {
    let findings = check::examine(backup, signals).await?;
    let fault = findings.iter().find(|finding| finding.severity == Severity::Error);
    fault.map_or(Ok(()), |fault| {
        let (subject, detail) = (&fault.subject, &fault.detail);
        Err(Failure::runtime(format!("the backup is not sound: {subject}: {detail}")))
    })
}
