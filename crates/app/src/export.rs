//! The command `export`.

mod target;

use petstore_domain::{Archive, StoreCounts};

use self::target::Target;
use crate::{
    cli::{ExportArgs, Format},
    driver::OpenMode,
    failure::Failure,
    progress::{Of, Progress},
    records,
    signals::Signals,
    store::with_archive,
};

/// Animals that are read and written at a time.
const BATCH_PETS: u32 = 5_000;

/// Writes every animal of the store to a file, as they are at one moment.
pub(crate) async fn run(args: ExportArgs) -> Result<(), Failure> {
    let signals = Signals::take_over()?;
    let (file, format) = args.target()?;
    with_archive(&*args.store.store.0, OpenMode::ReadOnly, async |archive| {
        export(&*archive, Target::open(file, args.force)?, format, &signals).await
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
