//! The command `export`.

#[cfg(test)]
mod tests;

use std::{
    fs,
    io::{self, Write as _},
};

use clap::Args;
use petstore_domain::{Archive, StoreCounts};

use crate::{
    cli::store_arg::StoreArgs,
    console::stdout_failed,
    driver::OpenMode,
    failure::Failure,
    partial_file::{Access, IfExists, PartialFile},
    progress::{Of, Progress},
    records::{self, FileArg, Format, RecordsArgs},
    signals::Signals,
    store::with_open_archive,
};

/// Animals that are read and written at a time.
const BATCH_PETS: u32 = 5_000;

/// Writes every animal of a store to a file.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    records: RecordsArgs,
    /// Replace FILE if it is there.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    store: StoreArgs,
}

impl ExportArgs {
    /// Returns the format. A name that promises another one is refused.
    pub(crate) fn format(&self) -> Result<Format, Failure> {
        self.records.format().ok_or_else(|| {
            Failure::usage(
                "no format is known by the end of the file's name; use .ndjson, .jsonl or .csv, or say \
                 which format with --format",
            )
        })
    }
}

/// Writes every animal of the store to a file, as they are at one moment.
pub(crate) async fn run(args: ExportArgs) -> Result<(), Failure> {
    let signals = Signals::take_over()?;
    let format = args.format()?;
    with_open_archive(&*args.store.store.0, OpenMode::ReadOnly, async |archive| {
        export(&*archive, Target::open(args.records.file, args.force)?, format, &signals).await
    })
    .await
}

async fn export(
    archive: &dyn Archive,
    mut target: Target,
    format: Format,
    signals: &Signals,
) -> Result<(), Failure> {
    let mut snapshot = archive.snapshot().await.map_err(Failure::runtime)?;
    let StoreCounts { pets: of, .. } = snapshot.counts().await.map_err(Failure::runtime)?;
    target.write(records::header(format).as_bytes())?;
    let mut progress = Progress::new();
    let (mut last, mut written) = (None, 0);
    let mut text = Vec::new();
    loop {
        progress.at("exporting", written, Of::Exactly(of));
        if signals.stop_asked() {
            return Err(Failure::runtime("stopped; the export is not complete"));
        }
        let batch = snapshot.pets(last, BATCH_PETS).await.map_err(Failure::runtime)?;
        let Some(end) = batch.last() else { break };
        last = Some(end.id);
        written += batch.len() as u64;
        text.clear();
        for pet in &batch {
            records::write(format, pet, &mut text);
        }
        target.write(&text)?;
    }
    let place = target.finish()?;
    progress.note(&format!("exported {written} animals to {place}"));
    Ok(())
}

/// What an export is written to.
#[derive(Debug)]
enum Target {
    Standard,
    File(PartialFile),
}

impl Target {
    /// Begins to write. A file that is there is refused unless `force` is given.
    fn open(file: FileArg, force: bool) -> Result<Self, Failure> {
        let if_exists =
            if force { IfExists::Replace } else { IfExists::Refuse("--force replaces it") };
        match file {
            FileArg::Standard => Ok(Self::Standard),
            FileArg::Path(path) if fs::metadata(&path).is_ok_and(|found| !found.is_file()) => {
                Err(Failure::runtime(format!(
                    "{} is not a plain file; use '-' and redirect standard output",
                    path.display()
                )))
            }
            FileArg::Path(path) => {
                PartialFile::begin(&path, if_exists, Access::Everybody).map(Self::File)
            }
        }
    }

    fn write(&mut self, text: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Standard => {
                let mut stdout = io::stdout().lock();
                let written = stdout.write_all(text).and_then(|()| stdout.flush());
                written.map_err(|error| stdout_failed(&error))
            }
            Self::File(file) => file.write(text),
        }
    }

    /// Makes the file durable under its name. Returns where it is, for people.
    fn finish(self) -> Result<String, Failure> {
        match self {
            Self::Standard => Ok("standard output".to_owned()),
            Self::File(file) => file.finish(),
        }
    }
}
