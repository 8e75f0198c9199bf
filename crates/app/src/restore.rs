//! The command `restore`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bytesize::ByteSize;
use clap::Args;
use petstore_domain::{Severity, StoreId, UpgradeMode};
use petstore_transfer::release;

use crate::{
    check,
    console::{Console, Output as _},
    driver::{OpenMode, StoreLocation},
    failure::{Failure, quotable_path},
    files::{Access, IfExists, PartialFile},
    keys::random,
    moving,
    process::Signals,
    progress::Progress,
    store::with_store,
    stores::{self, StoreArg, StoreArgs},
};

/// What SQLite has beside a file while that is open. Of another store, it would damage the restored one.
const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];
const IN_THE_WAY: &str =
    "a restore replaces no store: stop what uses it, and move it away with -wal and -shm";

const LOST: &str =
    "What was added since the backup is lost; revoke again the keys that were revoked since.";

/// Makes a store of a backup.
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// The backup, a file that 'petstore backup' has made.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
}

/// Makes a store of the backup where there is none yet.
pub(crate) async fn run(RestoreArgs { file, store }: RestoreArgs) -> Result<(), Failure> {
    let signals = Signals::take_over()?;
    if !file.is_file() {
        let shown = quotable_path(&file);
        return Err(Failure::runtime(format!("there is no backup at {shown}")));
    }
    let backup = stores::in_file(file.clone());
    let answer = if let Some(path) = store.store.location.file() {
        let partial = begin(&path)?;
        let about_schema = restore(&*backup.location, &partial, &signals).await;
        let about_schema = about_schema.map_err(|failure| {
            let stopped = || Failure::runtime("stopped; nothing was restored");
            if signals.stop_asked() { stopped() } else { failure }
        })?;
        let size = fs::metadata(partial.temporary()).map_or(0, |metadata| metadata.len());
        let place = partial.finish()?;
        let (size, file) = (ByteSize(size).display().iec(), quotable_path(&file));
        format!("restored {file} to {place}: {size}, found sound{about_schema}\n")
    } else {
        examine(&*backup.location, &signals).await?;
        moving::copy_all(backup, store.store, &signals).await?
    };
    Console.print(&answer)?;
    Console.note(LOST);
    Ok(())
}

/// Begins the file of the store, unless there is something.
fn begin(path: &Path) -> Result<PartialFile, Failure> {
    let partial = PartialFile::begin(path, IfExists::Refuse(IN_THE_WAY), Access::OwnerOnly)?;
    companions(path).map_or(Ok(partial), |found| {
        let found = quotable_path(&found);
        Err(Failure::runtime(format!("{found} is there, of a store that was; {IN_THE_WAY}")))
    })
}

/// Returns what is beside the file.
fn companions(path: &Path) -> Option<PathBuf> {
    let beside = |suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    COMPANIONS.into_iter().map(beside).find(|path| fs::symlink_metadata(path).is_ok())
}

/// Copies the backup, which must be sound, and makes a store of its own of the copy. Returns what is to be said of its
/// schema. A backup of an older schema has no identity yet: it stays as it is, for the release that made it.
async fn restore(
    backup: &dyn StoreLocation,
    partial: &PartialFile,
    signals: &Signals,
) -> Result<&'static str, Failure> {
    let upgrade = backup.upgrade(UpgradeMode::DryRun).await.map_err(Failure::runtime)?;
    let upgrade =
        upgrade.ok_or_else(|| Failure::runtime(format!("there is no backup at {backup}")))?;
    let is_current = upgrade.steps.is_empty();
    if is_current {
        examine(backup, signals).await?;
    }
    let (mut progress, stop) = (Progress::of("pages"), signals.clone());
    let watch = move |done, total| {
        progress.at("restoring", done, total);
        stop.go_on()
    };
    backup.back_up(partial.temporary(), Box::new(watch)).await.map_err(Failure::runtime)?;
    if !is_current {
        return Ok("; its schema is that of an older release, and 'petstore serve' upgrades it");
    }
    let StoreArg { location: copy, .. } = stores::in_file(partial.temporary().to_owned());
    let released = with_store(&*copy, OpenMode::ReadWrite, async |store| {
        let side = store.side(&*copy).map_err(Failure::runtime)?;
        release(&*side.handover, StoreId(random()?)).await.map_err(Failure::runtime)
    });
    if !released.await? || companions(partial.temporary()).is_some() {
        return Err(Failure::runtime("the copy could not be given an identity of its own"));
    }
    Ok("")
}

/// Refuses a backup that is not sound, as `check` finds it.
async fn examine(backup: &dyn StoreLocation, signals: &Signals) -> Result<(), Failure> {
    let findings = check::examine(backup, signals).await?;
    let fault = findings.iter().find(|finding| finding.severity == Severity::Fault);
    fault.map_or(Ok(()), |fault| {
        let (subject, detail) = (&fault.subject, &fault.detail);
        Err(Failure::runtime(format!("{backup} is not sound: {subject}: {detail}")))
    })
}
