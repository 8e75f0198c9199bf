//! The command `export`.

use std::path::Path;

use clap::Args;

use crate::{
    commands::records::{self, RecordsArgs},
    stores::{OpenMode, StoreArgs, require_undamaged, with_store},
    system::{
        Access, Console, Failure, IfExists, Output as _, PartialFile, Progress, Signals, count,
    },
};

/// The largest number of animals in one read and one write.
const BATCH_PETS: u32 = 5_000;

/// The flags of `export`.
#[derive(Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) records: RecordsArgs,
    /// Replacement of an existing FILE
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// Writes every animal of one snapshot of the store to a file or to standard output.
pub(crate) async fn run(args: ExportArgs) -> Result<(), Failure> {
    let signals = Signals::take_over()?;
    let why = "the file extension is unknown; use .ndjson, .jsonl or .csv, or name the format with --format";
    let format = args.records.format().ok_or_else(|| Failure::usage(why))?;
    let location = &*args.store.store.location;
    with_store(location, OpenMode::ReadOnly, async |store| {
        let archive = store.copy_ports(location)?.archive;
        store.require_open(location).await?;
        require_undamaged(location).await?;
        let mut file = args.records.path().map(|path| begin(path, args.force)).transpose()?;
        let mut snapshot = archive.snapshot().await.map_err(Failure::runtime)?;
        let of = snapshot.counts().await.map_err(Failure::runtime)?.pets;
        let mut progress = Progress::of("animals");
        let (mut last, mut written) = (None, 0);
        let mut text = records::header(format).as_bytes().to_vec();
        loop {
            match &mut file {
                Some(file) => file.write(&text)?,
                None => Console.print(&text)?,
            }
            progress.at("exporting", written, of);
            if signals.stop.is_cancelled() {
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
        }
        let place = file.map_or_else(|| Ok("standard output".to_owned()), PartialFile::finish)?;
        Console.note(&format!("exported {} to {place}", count(written, "animal")));
        Ok(())
    })
    .await
}

/// Creates the file. Refuses an existing file without `force`.
fn begin(path: &Path, force: bool) -> Result<PartialFile, Failure> {
    let if_exists = if force { IfExists::Replace } else { IfExists::Refuse("--force replaces it") };
    PartialFile::begin(path, if_exists, Access::Everybody)
}
