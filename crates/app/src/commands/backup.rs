//! The command `backup`.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use bytesize::ByteSize;
use clap::Args;
use petstore_domain::Clock as _;

use crate::{
    stores::{OnBackupProgress, OpenMode, StoreArgs, not_open, with_opened},
    system::{
        Access, Console, Failure, IfExists, Output as _, PartialFile, Progress, Signals,
        SystemClock,
    },
};

/// The metric for the time of the last sound backup.
const METRIC: &str = "petstore_backup_last_success_timestamp_seconds";

/// The flags of `backup`.
#[derive(Args)]
pub(crate) struct BackupArgs {
    /// File to create; an existing file is never replaced
    #[arg(long, value_name = "FILE")]
    pub(crate) to: PathBuf,
    /// File for Prometheus's textfile collector, written after a sound backup
    #[arg(long, value_name = "FILE")]
    pub(crate) metrics_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Writes a copy of the store at one moment to a new file.
pub(crate) async fn run(BackupArgs { to, metrics_file, store }: BackupArgs) -> Result<(), Failure> {
    if to == Path::new("-") {
        let why = "--to: a backup is verified after writing, so it cannot go to standard output; name a file";
        return Err(Failure::usage(why));
    }
    let signals = Signals::take_over()?;
    let location = &store.store.location;
    // A failure to open is ignored here: a store with an older schema cannot be opened, but is copied unchanged.
    if let Ok(store) = location.open(OpenMode::ReadOnly.into()).await {
        with_opened(store, async |store| store.require_open(&**location).await).await?;
    }
    let if_exists = IfExists::Refuse("a backup replaces no file: name another");
    // A backup contains digests of API keys, so only its owner may read it, like the store.
    let file = PartialFile::begin(&to, if_exists, Access::OwnerOnly)?;
    let done = location.back_up(file.temporary(), progress_of("backing up", &signals)).await;
    done.map_err(|why| signals.stopped_or("stopped; no backup was made", not_open(why)))?;
    let size = fs::metadata(file.temporary()).map_or(0, |metadata| metadata.len());
    let place = file.finish()?;
    if let Some(file) = metrics_file {
        note_success(&file).map_err(|failure| {
            Failure::runtime(format!("{place} is sound, but its metric is missing: {failure}"))
        })?;
    }
    Console.print(format!(
        "backed up {location} to {place}: {}, read again and found sound\n",
        ByteSize(size).display().iec()
    ))
}

/// Returns a callback that shows the progress of a backup, and cancels the backup after a stop signal.
pub(crate) fn progress_of(step: &'static str, signals: &Signals) -> OnBackupProgress {
    let (mut progress, signals) = (Progress::of("pages"), signals.clone());
    Box::new(move |done, total| {
        progress.at(step, done, total);
        signals.control_flow()
    })
}

/// Writes the time of the backup for Prometheus to a file that every user may read.
fn note_success(file: &Path) -> Result<(), Failure> {
    let seconds = SystemClock.now().0 / 1_000;
    let text = format!(
        "# HELP {METRIC} Time of the last successful backup, in seconds since 1970.\n# TYPE {METRIC} gauge\n{METRIC} \
         {seconds}\n"
    );
    let mut new = PartialFile::begin(file, IfExists::Replace, Access::Everybody)?;
    new.write(text.as_bytes())?;
    fs::set_permissions(new.temporary(), Permissions::from_mode(0o644))
        .map_err(Failure::runtime)?;
    new.finish().map(drop)
}
