//! The command `import`.

pub(crate) mod lines;
mod source;

use std::{
    io::{self, IsTerminal as _},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use clap::Args;
use petstore_domain::{
    Archive, ArchiveError, Clock, HighestIds, IdempotencyRequest, NewPet, PetId, PetRepository,
    Rows, WriterRole,
};
use petstore_json::Record;

use self::source::{Input, Source};
use crate::{
    cli::values,
    commands::records::{Format, RecordsArgs},
    stores::{StoreArgs, driver::OpenMode, opening::with_archive},
    system::{
        clock::SystemClock,
        console::{Console, Output as _},
        failure::{Failure, count, one_line_of},
        process::Signals,
        progress::Progress,
    },
};

/// The number of lines in a batch, which is one transaction. Must never change: with another number, a file that an
/// earlier release has imported in part would be added again (`docs/STORES.md`).
const BATCH_LINES: usize = 10_000;
/// The number of bad lines that are shown; further ones are counted.
const MAX_SHOWN: u64 = 100;
/// The largest length of a shown reason, in characters.
const MAX_REASON_CHARS: usize = 400;

/// The flags of `import`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct ImportArgs {
    #[command(flatten)]
    pub(crate) records: RecordsArgs,
    /// Import without the bad lines; otherwise, one bad line refuses the whole file
    #[arg(long)]
    skip_bad: bool,
    /// Import also of a file that was imported within the last 24 hours
    #[arg(long)]
    again: bool,
    /// Creation of a missing store
    #[arg(long)]
    create: bool,
    /// Preview of the import; nothing is changed
    #[arg(long, conflicts_with = "create")]
    dry_run: bool,
    /// Delimiter of CSV: a character such as ';', or 'tab'
    #[arg(long, value_name = "CHARACTER", default_value = ",", value_parser = values::delimiter)]
    delimiter: char,
    #[command(flatten)]
    store: StoreArgs,
}

/// Adds the animals of the file in batches.
pub(crate) async fn run(args: ImportArgs) -> Result<(), Failure> {
    let signals = Signals::take_over()?;
    let ImportArgs { records, skip_bad, again, create, dry_run, delimiter, store } = args;
    let path = records.path();
    let format = records.format().or_else(|| path.and_then(Format::of_compressed));
    let format = format.unwrap_or(Format::Ndjson);
    note_if_typed(path);
    let input = Input::open(path)?;
    let mode = match (create, dry_run) {
        (true, _) => OpenMode::Create,
        (false, true) => OpenMode::ReadOnly,
        (false, false) => OpenMode::ReadWrite,
    };
    let location = &*store.store.location;
    let done = with_archive(location, mode, async |store, archive| {
        store.require_open(location).await?;
        let import = Import { skip_bad, again, delimiter, ..Import::new(archive) };
        let import = Import { dry_run: dry_run.then_some(&*store.pets), ..import };
        import.run(input, format, &signals).await
    });
    Console.print(&done.await?)
}

/// Adds the animals of a file, whose extension gives the format. Sets `advanced` after each part of the file. Returns a
/// summary for people.
pub(crate) async fn all_of(
    file: &Path,
    archive: &dyn Archive,
    signals: &Signals,
    advanced: &Arc<AtomicBool>,
) -> Result<String, Failure> {
    let input = Input::open(Some(file))?;
    let format = Format::of(file).or_else(|| Format::of_compressed(file));
    let format = format.unwrap_or(Format::Ndjson);
    let import = Import { advanced: Arc::clone(advanced), ..Import::new(archive) };
    let done = import.run(input, format, signals).await?;
    Ok(done.trim_end().to_owned())
}

/// Prints that the command reads lines from a terminal. Without this note, the command would seem to hang.
fn note_if_typed(file: Option<&Path>) {
    if file.is_none() && io::stdin().is_terminal() {
        Console.note("reading animals from standard input; end it with Ctrl-D, or name a FILE");
    }
}

/// A running import.
struct Import<'a> {
    archive: &'a dyn Archive,
    skip_bad: bool,
    again: bool,
    delimiter: char,
    /// The animals of the store, for a dry run.
    dry_run: Option<&'a dyn PetRepository>,
    progress: Progress,
    /// Set after each part of the file.
    advanced: Arc<AtomicBool>,
    /// The highest identifier in the file; `None` for a file without identifiers.
    highest: Option<PetId>,
    /// The number of the last stored line. All earlier lines are stored too.
    kept: u64,
    added: u64,
    /// The number of animals that the store had already, under the same identifiers or from the same file.
    passed: u64,
    /// The number of bad lines.
    bad: u64,
}

impl<'a> Import<'a> {
    fn new(archive: &'a dyn Archive) -> Self {
        Self {
            archive,
            skip_bad: false,
            again: false,
            delimiter: ',',
            dry_run: None,
            progress: Progress::of("lines"),
            advanced: Arc::default(),
            highest: None,
            kept: 0,
            added: 0,
            passed: 0,
            bad: 0,
        }
    }

    /// Imports the file. Returns a summary for people.
    async fn run(
        mut self,
        input: Input,
        format: Format,
        signals: &Signals,
    ) -> Result<String, Failure> {
        const STOPPED: &str = "it was stopped";
        let file = tokio::select! {
            file = input.into_file(Arc::clone(&self.advanced)) => file,
            () = signals.clone().stop() => Err(STOPPED.to_owned()),
        };
        let file = file.map_err(|reason| self.failed(&reason))?;
        let max = BATCH_LINES.min(self.archive.max_batch());
        for is_check in [true, false] {
            let source = Source::new(&file, format, self.delimiter);
            let mut source = source.map_err(|reason| self.failed(&reason))?;
            while let Some(batch) = source.next(max).map_err(|reason| self.failed(&reason))? {
                if signals.stop_asked() {
                    return Err(self.failed(STOPPED));
                }
                self.advanced.store(true, Ordering::Relaxed);
                let line = batch.last_line;
                if is_check {
                    self.check(&batch).await?;
                    self.progress.at("checking", line, 0);
                } else {
                    self.write(batch).await?;
                    self.progress.at("importing", line, 0);
                }
            }
            if is_check {
                self.require_good()?;
                if self.dry_run.is_some() {
                    break;
                }
            }
        }
        let Self { passed, .. } = self;
        let [added, bad] = [count(self.added, "animal"), count(self.bad, "bad line")];
        if self.dry_run.is_none() {
            return Ok(format!(
                "added {added}, passed over {passed} that were there, skipped {bad}\n"
            ));
        }
        let may_be_known = self.highest.is_none() && !self.again;
        let unless = "; none, if the file was imported within the last 24 hours";
        let unless = if may_be_known { unless } else { "" };
        Ok(format!(
            "would add {added}{unless}; {passed} already there, {bad}; nothing was changed\n"
        ))
    }

    /// Shows and counts bad lines, and finds the highest identifier. In a dry run, also looks the animals up in the store.
    async fn check(&mut self, batch: &source::Batch) -> Result<(), Failure> {
        for (line, reason) in &batch.faults {
            if self.bad < MAX_SHOWN {
                let reason: String = one_line_of(reason).chars().take(MAX_REASON_CHARS).collect();
                Console.note(&format!("line {line}: {reason}"));
            }
            self.bad += 1;
        }
        let ids = batch.records.iter().filter_map(|record| record.id);
        self.highest = self.highest.max(ids.max());
        let Some(pets) = self.dry_run else { return Ok(()) };
        for Record { id, pet } in &batch.records {
            let found = match id {
                Some(id) => pets.find(*id).await.map_err(Failure::of_store)?.value,
                None => None,
            };
            match found {
                None => self.added += 1,
                Some(found) if pet.clone().with_id(found.id) == found => self.passed += 1,
                Some(found) => {
                    let error = ArchiveError::OtherPet(found.id).to_string();
                    return Err(self.failed(&error));
                }
            }
        }
        Ok(())
    }

    /// Prints the number of bad lines that were not shown. Refuses a file with bad lines unless they are skipped.
    fn require_good(&self) -> Result<(), Failure> {
        let bad = self.bad;
        if bad > MAX_SHOWN {
            Console.note(&format!("and {}", count(bad - MAX_SHOWN, "more bad line")));
        }
        if bad == 0 || self.skip_bad {
            return Ok(());
        }
        let (lines, them) = if bad == 1 { ("line is", "it") } else { ("lines are", "them") };
        let reason = format!(
            "{bad} {lines} bad; correct {them}, or skip {them} with 'petstore import --skip-bad'"
        );
        Err(self.failed(&reason))
    }

    /// Stores a batch. Records with an identifier keep it; the others get new ones, at most once.
    async fn write(&mut self, read: source::Batch) -> Result<(), Failure> {
        if !read.faults.is_empty() && !self.skip_bad {
            return Err(self.failed("the file was changed while it was read"));
        }
        let request = IdempotencyRequest::of_batch(read.digest, SystemClock.now());
        let request = (!self.again && self.highest.is_none()).then_some(request);
        let mut new = Vec::new();
        let highest = HighestIds { pet: self.highest, key: None };
        let mut rows = Rows { highest, ..Rows::default() };
        for Record { id, pet } in read.records {
            match id {
                Some(id) => rows.pets.push(pet.with_id(id)),
                None => new.push(pet),
            }
        }
        let given = (rows.pets.len() + new.len()) as u64;
        let added = self.store_records(rows, new, request).await;
        let added = added.map_err(|error| self.failed(&error.to_string()))?;
        self.added += added;
        self.passed += given - added;
        self.kept = read.last_line;
        Ok(())
    }

    /// Stores the records of a batch. Returns the number of added animals.
    async fn store_records(
        &self,
        rows: Rows,
        new: Vec<NewPet>,
        request: Option<IdempotencyRequest>,
    ) -> Result<u64, ArchiveError> {
        let mut added = 0;
        // Also written without animals, so that the store assigns identifiers above the identifiers of later lines.
        if !rows.pets.is_empty() || rows.highest.pet.is_some() {
            added += self.archive.write_rows(WriterRole::Service, rows).await?;
        }
        if !new.is_empty() {
            added += self.archive.add_new(new, request).await?;
        }
        Ok(added)
    }

    /// Creates the failure of the import, with the number of the last stored line.
    fn failed(&self, reason: &str) -> Failure {
        Failure::runtime(match self.kept {
            0 => format!("nothing was stored: {reason}"),
            kept => format!(
                "stored up to line {kept}, and no further: {reason}; run it again to continue there"
            ),
        })
    }
}
