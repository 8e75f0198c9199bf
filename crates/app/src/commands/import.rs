//! The command `import`.

pub(crate) mod lines;
mod source;

use std::{fmt, fs::File, path::Path};

use clap::Args;
use petstore_domain::{
    Archive, ArchiveError, Clock, HighestIds, IdempotencyRequest, PetId, PetRepository, Rows,
    WriterRole,
};
use petstore_json::Record;
use tokio::{sync::watch, task::yield_now};

use self::source::{Batch, Source};
use crate::{
    cli::values,
    commands::records::{Format, RecordsArgs, is_compressed},
    stores::{OpenMode, StoreArgs, with_store},
    system::{Console, Failure, Output as _, Progress, Signals, SystemClock, count, one_line_of},
};

/// The number of lines in a batch, unless the store permits only smaller batches. A batch is one transaction. The
/// number must never change: otherwise, a file without identifiers that an earlier release has imported, also in part,
/// could be added again (`docs/STORES.md`).
const BATCH_LINES: usize = 10_000;
/// The number of bad lines that are shown. Further bad lines are only counted.
const MAX_SHOWN: u64 = 100;
/// The largest length of a shown reason, in characters.
const MAX_REASON_CHARS: usize = 400;
/// The reason in the message of an import that a signal has stopped.
const STOPPED: &str = "it was stopped";

/// The flags of `import`.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct ImportArgs {
    #[command(flatten)]
    pub(crate) records: RecordsArgs,
    /// Import without the bad lines; otherwise, one bad line refuses the whole file
    #[arg(long)]
    skip_bad: bool,
    /// Addition of the animals once more, under new identifiers, even if the file was imported within the last 24
    /// hours; no effect on a file with identifiers
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

/// Checks the file, and then adds its animals in batches.
pub(crate) async fn run(args: ImportArgs) -> Result<(), Failure> {
    let signals = Signals::take_over()?;
    let ImportArgs { records, skip_bad, again, create, dry_run, delimiter, store } = args;
    let mut import = Import { delimiter, skip_bad, again, signals, ..Import::default() };
    let file = import.check(records.path(), records.format()).await?;
    let mode = match (create, dry_run) {
        (true, _) => OpenMode::Create,
        (false, true) => OpenMode::ReadOnly,
        (false, false) => OpenMode::ReadWrite,
    };
    let location = &*store.store.location;
    let done = with_store(location, mode, async |store| {
        let archive = store.copy_ports(location)?.archive;
        store.require_open(location).await?;
        let preview = dry_run.then_some(&*store.pets);
        import.run(&file, archive, preview).await
    });
    Console.print(done.await? + "\n")
}

/// Adds the animals of a file, whose extension gives the format. Notifies `advanced` of each part of the file. Returns a
/// summary for people.
pub(crate) async fn all_of(
    file: &Path,
    archive: &dyn Archive,
    advanced: watch::Sender<()>,
) -> Result<String, Failure> {
    let mut import = Import { delimiter: ',', advanced, ..Import::default() };
    let file = import.check(Some(file), Format::of(file)).await?;
    import.run(&file, archive, None).await
}

/// A running import.
#[derive(Default)]
struct Import {
    format: Format,
    delimiter: char,
    skip_bad: bool,
    again: bool,
    signals: Signals,
    /// Notified of each part of the file.
    advanced: watch::Sender<()>,
    /// The highest identifier in the file; `None` for a file without identifiers.
    highest: Option<PetId>,
    /// The number of the last line of the last stored batch; 0 if none is stored.
    kept: u64,
    added: u64,
    /// The number of animals that the store had already, under the same identifiers or from the same file.
    passed: u64,
    /// The number of bad lines.
    bad: u64,
}

impl Import {
    /// Reads the input to its end, shows bad lines, and finds the highest identifier. Returns the input as a file that
    /// can be read again. Without a `format`, the format of a file that ends in `.gz` is that of the extension before
    /// `.gz`; any other file, or an unknown extension, is NDJSON.
    async fn check(
        &mut self,
        path: Option<&Path>,
        format: Option<Format>,
    ) -> Result<File, Failure> {
        let stem = path.filter(|path| is_compressed(path)).and_then(Path::file_stem);
        let of_compressed = || Format::of(Path::new(stem?));
        self.format = format.or_else(of_compressed).unwrap_or_default();
        let opening = source::open(path, self.advanced.clone());
        let opened = self.signals.stop.run_until_cancelled(opening).await;
        let file = opened.ok_or_else(|| self.failed(STOPPED))??;
        let (mut source, mut progress) = (self.source(&file)?, Progress::of("lines"));
        while let Some(batch) = self.next(&mut source, BATCH_LINES).await? {
            for (line, reason) in &batch.faults {
                if self.bad < MAX_SHOWN {
                    let reason: String =
                        one_line_of(reason).chars().take(MAX_REASON_CHARS).collect();
                    Console.note(&format!("line {line}: {reason}"));
                }
                self.bad += 1;
            }
            self.highest = self.highest.max(batch.records.iter().filter_map(|it| it.id).max());
            progress.at("checking", batch.last_line, 0);
        }
        let bad = self.bad;
        if bad > MAX_SHOWN {
            Console.note(&format!("and {}", count(bad - MAX_SHOWN, "more bad line")));
        }
        if bad == 0 || self.skip_bad {
            return Ok(file);
        }
        let (lines, them) = if bad == 1 { ("line is", "it") } else { ("lines are", "them") };
        Err(self.failed(format_args!(
            "{bad} {lines} bad; correct {them}, or skip {them} with 'petstore import --skip-bad'"
        )))
    }

    /// Stores the animals of the checked file. For a preview, only looks them up. Returns a summary for people.
    async fn run(
        mut self,
        file: &File,
        archive: &dyn Archive,
        preview: Option<&dyn PetRepository>,
    ) -> Result<String, Failure> {
        let max = BATCH_LINES.min(archive.max_batch());
        let (mut source, mut progress) = (self.source(file)?, Progress::of("lines"));
        // The check has decided whether the records have identifiers. The first record must not decide this again,
        // because the file may have been changed.
        source.with_ids = Some(self.highest.is_some());
        while let Some(batch) = self.next(&mut source, max).await? {
            let line = batch.last_line;
            match preview {
                Some(pets) => self.look_up(&batch, pets).await?,
                None => self.write(batch, archive).await?,
            }
            progress.at("importing", line, 0);
        }
        let Self { passed, .. } = self;
        let [added, bad] = [count(self.added, "animal"), count(self.bad, "bad line")];
        if preview.is_none() {
            return Ok(format!(
                "added {added}, passed over {passed} that were there, skipped {bad}"
            ));
        }
        let may_be_known = self.highest.is_none() && !self.again;
        let unless = "; none, if the file was imported within the last 24 hours";
        let unless = if may_be_known { unless } else { "" };
        Ok(format!("would add {added}{unless}; {passed} already there, {bad}; nothing was changed"))
    }

    fn source<'f>(&self, file: &'f File) -> Result<Source<'f>, Failure> {
        Source::new(file, self.format, self.delimiter).map_err(|reason| self.failed(reason))
    }

    /// Returns the next batch; `None` at end of file. Fails after a stop signal.
    async fn next(&self, source: &mut Source<'_>, max: usize) -> Result<Option<Batch>, Failure> {
        self.advanced.send_replace(());
        // A service that stops drops its import here.
        yield_now().await;
        if self.signals.stop.is_cancelled() {
            return Err(self.failed(STOPPED));
        }
        source.next(max).map_err(|reason| self.failed(reason))
    }

    /// Counts the animals of a batch that the store has, and those that it lacks.
    async fn look_up(&mut self, batch: &Batch, pets: &dyn PetRepository) -> Result<(), Failure> {
        for Record { id, pet } in &batch.records {
            let Some(id) = id else {
                self.added += 1;
                continue;
            };
            match pets.find(*id).await.map_err(Failure::of_store)?.value {
                None => self.added += 1,
                Some(found) if pet.clone().with_id(found.id) == found => self.passed += 1,
                Some(found) => return Err(self.failed(ArchiveError::OtherPet(found.id))),
            }
        }
        Ok(())
    }

    /// Stores a batch. The records of a file with identifiers keep their identifiers. The records of any other file get
    /// new identifiers, and are not added again within 24 hours unless `again` is set.
    async fn write(&mut self, batch: Batch, archive: &dyn Archive) -> Result<(), Failure> {
        if !batch.faults.is_empty() && !self.skip_bad {
            return Err(self.failed("the file was changed while it was read"));
        }
        let given = batch.records.len() as u64;
        let records = batch.records.into_iter();
        let added = match self.highest {
            // A batch without animals is written too: it raises the store's highest identifier to that of the whole
            // file, so that no new animal gets an identifier of a later line.
            Some(_) => {
                let pets = records.filter_map(|Record { id, pet }| Some(pet.with_id(id?)));
                let highest = HighestIds { pet: self.highest, key: None };
                let rows = Rows { pets: pets.collect(), highest, ..Rows::default() };
                archive.write_rows(WriterRole::Service, rows).await
            }
            None if given == 0 => Ok(0),
            None => {
                let request = IdempotencyRequest::of_batch(batch.digest, SystemClock.now());
                let request = Some(request).filter(|_| !self.again);
                archive.add_new(records.map(|record| record.pet).collect(), request).await
            }
        };
        let added = added.map_err(|error| self.failed(error))?;
        self.added += added;
        self.passed += given - added;
        self.kept = batch.last_line;
        Ok(())
    }

    /// Creates the failure of the import, with the last line of the last stored batch.
    fn failed(&self, reason: impl fmt::Display) -> Failure {
        let adds_twice = self.again && self.highest.is_none();
        let next =
            if adds_twice { "import the rest alone" } else { "run it again to continue there" };
        Failure::runtime(match self.kept {
            0 => format!("nothing was stored: {reason}"),
            kept => format!("stored up to line {kept}: {reason}; {next}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use petstore_domain::PetId;
    use petstore_memory::MemoryStore;

    use super::Import;

    #[test]
    fn a_command_that_would_add_animals_twice_is_not_to_be_run_again() {
        for (again, highest, next) in [
            (true, None, "import the rest alone"),
            (true, Some(PetId(9)), "run it again to continue there"),
        ] {
            let import = Import { again, highest, kept: 5, ..Import::default() };
            assert_eq!(import.failed("x").to_string(), format!("stored up to line 5: x; {next}"));
        }
    }

    #[tokio::test]
    async fn a_file_that_was_changed_after_its_check_is_refused() {
        // `.gz` is the only extension that may follow that of a format.
        let file = tempfile::NamedTempFile::with_suffix(".csv.old").unwrap();
        for changed in ["x\n", "{\"id\":5,\"name\":\"Rex\",\"categoryId\":1}\n"] {
            std::fs::write(file.path(), "{\"name\":\"Rex\",\"categoryId\":1}\n").unwrap();
            let mut import = Import::default();
            let checked = import.check(Some(file.path()), None).await.unwrap();
            std::fs::write(file.path(), changed).unwrap();
            let store = MemoryStore::new();
            let refused = import.run(&checked, &store, None).await.unwrap_err().to_string();
            assert_eq!(refused, "nothing was stored: the file was changed while it was read");
        }
    }
}
