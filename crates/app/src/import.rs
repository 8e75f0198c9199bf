//! The command `import`.

pub(crate) mod lines;
mod source;

use std::io::{self, IsTerminal as _};

use clap::Args;
use petstore_domain::{Archive, Batch, Clock, IdempotencyRequest, PetId, RestoreError};
use petstore_json::Record;

use self::source::{Fault, Input, Numbered, Reading, Source};
use crate::{
    cli::store_arg::StoreArgs,
    clock::SystemClock,
    console::{Console, Output as _},
    driver::OpenMode,
    failure::{Failure, one_line_of},
    progress::Progress,
    records::{FileArg, Format, RecordsArgs},
    signals::Signals,
    store::with_open_archive,
};

/// Lines in a batch, which is one transaction. Another number would end batches elsewhere, and what an earlier
/// release has kept of a file would be added again: it stays as it is (`docs/STORES.md`).
const BATCH_LINES: usize = 10_000;
/// Lines that are named where several have the identifier that is in the way.
const MAX_LINES_NAMED: usize = 5;
/// Bad lines that are shown; the rest are counted.
const MAX_SHOWN: u64 = 100;
/// The longest reason that is shown, in characters.
const MAX_REASON_CHARS: usize = 400;

/// Adds the animals of a file.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    #[command(flatten)]
    pub(crate) records: RecordsArgs,
    /// Leave bad lines out, instead of refusing the whole file for them.
    #[arg(long)]
    skip_bad: bool,
    /// Add the animals even if this file was imported within the last 24 hours.
    #[arg(long)]
    again: bool,
    /// Make the store if there is none.
    #[arg(long)]
    create: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// Adds the animals of the file, batch by batch.
pub(crate) async fn run(args: ImportArgs) -> Result<(), Failure> {
    let signals = Signals::take_over()?;
    let ImportArgs { records, skip_bad, again, create, store } = args;
    let reading = Reading {
        format: records.format().unwrap_or(Format::Ndjson),
        skip_bad,
        batch_lines: BATCH_LINES,
    };
    note_if_typed(&records.file);
    let input = Input::open(&records.file)?;
    let mode = if create { OpenMode::Create } else { OpenMode::ReadWrite };
    let done = with_open_archive(&*store.store.0, mode, async |archive| {
        let batch_lines = BATCH_LINES.min(archive.max_batch());
        let source = Source::begin(input, Reading { batch_lines, ..reading })?;
        let import = Import::new(&*archive, skip_bad, again);
        import.run(source, signals.stop()).await
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
    /// Equal animals that were there already, under the same identifiers or from the same file.
    passed: u64,
    /// Bad lines.
    skipped: u64,
}

/// An import while it runs.
struct Import<'a> {
    archive: &'a dyn Archive,
    skip_bad: bool,
    again: bool,
    progress: Progress,
    faults: Faults,
    /// The highest identifier in the file, if it has some.
    highest: Option<PetId>,
    /// The last line of which, and of all those before, the animals are in the store.
    kept: u64,
    imported: Imported,
}

impl<'a> Import<'a> {
    fn new(archive: &'a dyn Archive, skip_bad: bool, again: bool) -> Self {
        Self {
            archive,
            skip_bad,
            again,
            progress: Progress::new(),
            faults: Faults::default(),
            highest: None,
            kept: 0,
            imported: Imported::default(),
        }
    }

    async fn run(
        mut self,
        mut source: Source,
        stop: impl Future<Output = ()>,
    ) -> Result<Imported, Failure> {
        tokio::pin!(stop);
        loop {
            let batch = tokio::select! {
                batch = source.next() => batch,
                () = &mut stop => Err("it was stopped".to_owned()),
            };
            let Some(batch) = batch.map_err(|reason| self.failed(&reason))? else { break };
            let (is_check, line, of) = (batch.is_check, batch.last_line, batch.of);
            if is_check {
                self.check(&batch);
            } else {
                self.write(batch).await?;
            }
            self.progress.at(if is_check { "checking" } else { "importing" }, line, of);
        }
        self.faults.report_rest(&mut self.progress);
        self.imported.skipped = self.faults.count;
        if self.faults.count > 0 && !self.skip_bad {
            let count = self.faults.count;
            return Err(self.failed(&format!(
                "{count} lines are bad; mend them, or leave them out with --skip-bad"
            )));
        }
        Ok(self.imported)
    }

    fn check(&mut self, batch: &source::Batch) {
        self.faults.report(&batch.faults, &mut self.progress);
        let ids = batch.records.iter().filter_map(|numbered| numbered.record.id);
        self.highest = self.highest.max(ids.max());
    }

    /// Records with an identifier keep it; the others get new ones, at most once.
    async fn write(&mut self, read: source::Batch) -> Result<(), Failure> {
        if !read.faults.is_empty() && !self.skip_bad {
            return Err(self.failed("the file was changed while it was read"));
        }
        let request = IdempotencyRequest::of_batch(read.digest, SystemClock.now());
        let mut batch = Batch {
            request: (!self.again && self.highest.is_none()).then_some(request),
            assign_above: self.highest,
            ..Batch::default()
        };
        let mut lines: Vec<(PetId, u64)> = Vec::new();
        for Numbered { line, record: Record { id, pet } } in read.records {
            match id {
                Some(id) => {
                    lines.push((id, line));
                    batch.pets.push(pet.with_id(id));
                }
                None => batch.new_pets.push(pet),
            }
        }
        let given = (batch.pets.len() + batch.new_pets.len()) as u64;
        if given > 0 {
            let written = self.archive.write(batch).await;
            let added = written.map_err(|error| self.failed(&reason(&error, &lines)))?.added;
            self.imported.added += added;
            self.imported.passed += given - added;
        }
        self.kept = read.last_line;
        Ok(())
    }

    /// Why the import has ended, and what is left of it.
    fn failed(&self, reason: &str) -> Failure {
        Failure::runtime(match self.kept {
            0 => format!("nothing was kept: {reason}"),
            kept => format!(
                "kept up to line {kept}, and no further: {reason}; run it again to go on there"
            ),
        })
    }
}

/// Shows bad lines and counts them.
#[derive(Debug, Default)]
struct Faults {
    count: u64,
}

impl Faults {
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

/// Why a batch was refused, with the lines of an animal that is in the way. Several of its lines may have the
/// identifier.
fn reason(error: &RestoreError, lines: &[(PetId, u64)]) -> String {
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
    format!("{error}{place}")
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
