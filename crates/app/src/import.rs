//! The command `import`.

mod faults;
mod lines;
mod source;

use petstore_domain::{Archive, NewPet, Pet, Restore, RestoreError};

use self::{
    faults::Faults,
    source::{Batch, Source},
};
use crate::{
    cli::ImportArgs,
    console::{Console, Output as _, stdout_failed},
    driver::IfMissing,
    failure::Failure,
    progress::Progress,
    records::Record,
    signals::Signals,
    store::with_archive,
};

/// Adds the animals of the file, all in one transaction.
pub(crate) async fn run(args: ImportArgs) -> Result<(), Failure> {
    let signals = Signals::take_over()?;
    let file = args.file();
    let format = args.format.for_file(&file);
    let source = Source::open(file, format)?;
    let done = with_archive(&*args.store.store.0, IfMissing::Create, async |archive| {
        import(&*archive, source, args.skip_bad, signals).await
    });
    let answer = done.await?.to_string();
    Console.answer(&answer).map_err(|error| stdout_failed(&error))
}

/// What was done with the lines of a file.
#[derive(Debug, Default)]
struct Imported {
    added: u64,
    passed: u64,
    skipped: u64,
}

async fn import(
    archive: &dyn Archive,
    mut source: Source,
    skip_bad: bool,
    signals: Signals,
) -> Result<Imported, Failure> {
    let mut import = Import {
        restore: archive.restore().await.map_err(Failure::runtime)?,
        skip_bad,
        progress: Progress::new(),
        faults: Faults::default(),
        done: Imported::default(),
    };
    let stop = signals.stop();
    tokio::pin!(stop);
    loop {
        let batch = tokio::select! {
            batch = source.next() => batch?,
            () = &mut stop => return Err(Failure::runtime("stopped; nothing was kept")),
        };
        let Some(batch) = batch else { return import.finish().await };
        import.take(batch).await?;
    }
}

/// An import while it runs.
struct Import {
    restore: Box<dyn Restore>,
    skip_bad: bool,
    progress: Progress,
    faults: Faults,
    done: Imported,
}

impl Import {
    async fn take(&mut self, batch: Batch) -> Result<(), Failure> {
        let Batch { records, faults, of } = batch;
        self.faults.report(&faults, &mut self.progress);
        self.done.skipped = self.faults.count();
        if self.faults.count() == 0 || self.skip_bad {
            self.restore(records)
                .await
                .map_err(|error| Failure::runtime(format!("nothing was kept: {error}")))?;
        }
        let Imported { added, passed, skipped } = self.done;
        self.progress.at("importing", added + passed + skipped, of);
        Ok(())
    }

    /// The records of a file have identifiers, or none has.
    async fn restore(&mut self, records: Vec<Record>) -> Result<(), RestoreError> {
        let mut own: Vec<Pet> = Vec::new();
        let mut new: Vec<NewPet> = Vec::new();
        for Record { id, pet } in records {
            match id {
                Some(id) => own.push(pet.with_id(id)),
                None => new.push(pet),
            }
        }
        let (given, fresh) = (own.len() as u64, new.len() as u64);
        let added = if given > 0 { self.restore.pets(own).await? } else { 0 };
        if fresh > 0 {
            self.restore.new_pets(new).await?;
        }
        self.done.added += added + fresh;
        self.done.passed += given - added;
        Ok(())
    }

    async fn finish(mut self) -> Result<Imported, Failure> {
        self.faults.sum_up(&mut self.progress);
        if self.faults.count() > 0 && !self.skip_bad {
            let count = self.faults.count();
            return Err(Failure::runtime(format!(
                "nothing was kept: {count} lines are bad; mend them, or leave them out with \
                 --skip-bad"
            )));
        }
        self.restore.commit().await.map_err(Failure::runtime)?;
        Ok(self.done)
    }
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
