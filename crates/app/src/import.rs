//! The command `import`.

pub(crate) mod lines;
mod source;

use std::{
    io::{self, IsTerminal as _},
    time::Duration,
};

use clap::Args;
use petstore_domain::{Archive, NewPet, Pet, PetId, Restore, RestoreError};
use petstore_json::Record;
use tokio::time;

use self::source::{Batch, Fault, Numbered, Source};
use crate::{
    cli::store_arg::StoreArgs,
    console::{Console, Output as _},
    driver::OpenMode,
    failure::{Failure, one_line_of},
    progress::Progress,
    records::{FileArg, Format, RecordsArgs},
    signals::Signals,
    store::with_open_archive,
};

/// Lines that are named where several have the identifier that is in the way.
const MAX_LINES_NAMED: usize = 5;
/// Bad lines that are shown; the rest are counted.
const MAX_SHOWN: u64 = 100;
/// The longest reason that is shown, in characters.
const MAX_REASON_CHARS: usize = 400;
/// How long an import waits for its next lines once it holds up other writers of the store.
const MAX_STALL: Duration = Duration::from_secs(10);

/// Adds the animals of a file.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    #[command(flatten)]
    pub(crate) records: RecordsArgs,
    /// Leave bad lines out, instead of refusing the whole file for them.
    #[arg(long)]
    skip_bad: bool,
    /// Make the store if there is none.
    #[arg(long)]
    create: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// Adds the animals of the file, all in one transaction.
pub(crate) async fn run(args: ImportArgs) -> Result<(), Failure> {
    let signals = Signals::take_over()?;
    let format = args.records.format().unwrap_or(Format::Ndjson);
    let file = args.records.file;
    note_if_typed(&file);
    let source = Source::open(file, format)?;
    let mode = if args.create { OpenMode::Create } else { OpenMode::ReadWrite };
    let done = with_open_archive(&*args.store.store.0, mode, async |archive| {
        import(&*archive, source, args.skip_bad, signals.stop()).await
    });
    let answer = done.await?.to_string();
    Console.print(&answer)
}

/// Says that the command waits for lines from a terminal: it would look as if it hung.
fn note_if_typed(file: &FileArg) {
    if *file == FileArg::Standard && io::stdin().is_terminal() {
        Console.note("reading animals from standard input; end it with Ctrl-D, or name a FILE");
    }
}

/// What was done with the lines of a file.
#[derive(Debug, Default)]
struct Imported {
    added: u64,
    /// Equal animals that were there already, under the same identifiers.
    passed: u64,
    /// Bad lines.
    skipped: u64,
}

async fn import(
    archive: &dyn Archive,
    mut source: Source,
    skip_bad: bool,
    stop: impl Future<Output = ()>,
) -> Result<Imported, Failure> {
    let mut import = Import {
        archive,
        restore: None,
        skip_bad,
        progress: Progress::new(),
        faults: Faults::default(),
        imported: Imported::default(),
    };
    tokio::pin!(stop);
    loop {
        let batch = tokio::select! {
            batch = import.next_of(&mut source) => batch?,
            () = &mut stop => return Err(Failure::runtime("stopped; nothing was kept")),
        };
        let Some(batch) = batch else { return import.finish().await };
        import.add_batch(batch).await?;
    }
}

/// An import while it runs.
struct Import<'a> {
    archive: &'a dyn Archive,
    /// From the first animal on: until then, no other writer of the store waits.
    restore: Option<Box<dyn Restore>>,
    skip_bad: bool,
    progress: Progress,
    faults: Faults,
    imported: Imported,
}

impl Import<'_> {
    async fn next_of(&self, source: &mut Source) -> Result<Option<Batch>, Failure> {
        if self.restore.is_none() {
            return source.next().await;
        }
        time::timeout(MAX_STALL, source.next()).await.unwrap_or_else(|_| {
            Err(Failure::runtime(format!(
                "nothing was kept: no line came for {} s, while other writes to the store waited; \
                 write the lines to a file first, and import that",
                MAX_STALL.as_secs()
            )))
        })
    }

    /// The transaction of the whole file.
    async fn restore(&mut self) -> Result<&mut Box<dyn Restore>, Failure> {
        let restore = match self.restore.take() {
            Some(restore) => restore,
            None => self.archive.restore().await.map_err(Failure::runtime)?,
        };
        Ok(self.restore.insert(restore))
    }

    /// Once a line is bad, the rest is only checked, unless bad lines are skipped.
    async fn add_batch(&mut self, batch: Batch) -> Result<(), Failure> {
        let Batch { records, faults, of } = batch;
        self.faults.report(&faults, &mut self.progress);
        self.imported.skipped = self.faults.count();
        if self.faults.count() == 0 || self.skip_bad {
            self.add(records).await?;
        }
        let Imported { added, passed, skipped } = self.imported;
        self.progress.at("importing", added + passed + skipped, of);
        Ok(())
    }

    /// Records with an identifier keep it; the others get new ones.
    async fn add(&mut self, records: Vec<Numbered>) -> Result<(), Failure> {
        let mut lines: Vec<(PetId, u64)> = Vec::new();
        let mut pets: Vec<Pet> = Vec::new();
        let mut new_pets: Vec<NewPet> = Vec::new();
        for Numbered { line, record: Record { id, pet } } in records {
            match id {
                Some(id) => {
                    lines.push((id, line));
                    pets.push(pet.with_id(id));
                }
                None => new_pets.push(pet),
            }
        }
        if !pets.is_empty() {
            let given = pets.len() as u64;
            let restore = self.restore().await?;
            let added = restore.pets(pets).await.map_err(|error| refused(&error, &lines))?;
            self.imported.added += added;
            self.imported.passed += given - added;
        }
        if !new_pets.is_empty() {
            let added = new_pets.len() as u64;
            let restore = self.restore().await?;
            restore.new_pets(new_pets).await.map_err(|error| refused(&error, &[]))?;
            self.imported.added += added;
        }
        Ok(())
    }

    async fn finish(mut self) -> Result<Imported, Failure> {
        self.faults.report_rest(&mut self.progress);
        if self.faults.count() > 0 && !self.skip_bad {
            let count = self.faults.count();
            return Err(Failure::runtime(format!(
                "nothing was kept: {count} lines are bad; mend them, or leave them out with \
                 --skip-bad"
            )));
        }
        if let Some(restore) = self.restore {
            restore.commit().await.map_err(Failure::runtime)?;
        }
        Ok(self.imported)
    }
}

/// Shows bad lines and counts them.
#[derive(Debug, Default)]
struct Faults {
    count: u64,
}

impl Faults {
    fn count(&self) -> u64 {
        self.count
    }

    fn report(&mut self, faults: &[Fault], progress: &mut Progress) {
        for Fault { line, reason } in faults {
            if self.count < MAX_SHOWN {
                let reason: String = one_line_of(reason).chars().take(MAX_REASON_CHARS).collect();
                progress.note(&format!("line {line}: {reason}"));
            }
            self.count += 1;
        }
    }

    /// Says how many bad lines were not shown.
    fn report_rest(&self, progress: &mut Progress) {
        if self.count > MAX_SHOWN {
            progress.note(&format!("and {} more bad lines", self.count - MAX_SHOWN));
        }
    }
}

/// Why nothing was kept, with the lines of an animal that is in the way. Several lines of the batch may
/// have its identifier.
fn refused(error: &RestoreError, lines: &[(PetId, u64)]) -> Failure {
    let lines: Vec<_> = match error {
        RestoreError::OtherPet(other) => {
            let same = lines.iter().filter(|(id, _)| id == other);
            same.take(MAX_LINES_NAMED).map(|(_, line)| line.to_string()).collect()
        }
        RestoreError::Conflict { .. } | RestoreError::Store(_) => Vec::new(),
    };
    let place = match lines.as_slice() {
        [] => String::new(),
        [line] => format!(" (line {line})"),
        lines => format!(" (lines {})", lines.join(", ")),
    };
    Failure::runtime(format!("nothing was kept: {error}{place}"))
}

impl std::fmt::Display for Imported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { added, passed, skipped } = self;
        writeln!(
            f,
            "added {added} animals, passed over {passed} that were there, skipped {skipped} bad lines"
        )
    }
}

#[cfg(test)]
mod tests;
