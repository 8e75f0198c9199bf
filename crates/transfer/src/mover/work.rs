//! A mover's work on the rows of both stores.

use std::time::Duration;

use petstore_domain::{ArchiveError, Rows, StoreCounts, StoreError, WriterRole};
use tokio::time::{Instant, timeout};

use crate::{
    compare::{Expect, Pair, Position, cutoff},
    difference::Difference,
    error::{MoveError, TransferError},
    mover::{
        Run, SEAL_LIMIT,
        step::{Outcome, Work},
    },
    rows::RowWriter,
};

/// The old store is sealed once a pass copied at most so many animals, and took at most so long or would not become
/// shorter: the stores may be far away.
const SHORT: u64 = 1_000;
const QUICK: Duration = Duration::from_millis(200);
/// The number of passes that are not short before the mover gives up.
const MAX_PASSES: u32 = 100;

impl<'m> Run<'m> {
    pub(super) async fn work(&mut self, work: Work) -> Outcome {
        let done = match work {
            Work::Compare { empty } => self.compare(empty).await,
            Work::Follow => self.follow().await,
            Work::Check => self.check().await,
            Work::Finish => {
                let sealed_for = self.sealed_at.map_or(Duration::ZERO, |at| at.elapsed());
                let limit = SEAL_LIMIT.saturating_sub(sealed_for);
                let Ok(done) = timeout(limit, self.finish()).await else {
                    self.error = Some(MoveError::TooSlow);
                    return Outcome::Late;
                };
                done
            }
            Work::CompareBehind => self.compare_behind().await,
        };
        let Err(error) = done else { return Outcome::Done };
        let outcome = outcome(&error);
        if matches!(error, MoveError::Canceled) {
            self.seen.stop();
        }
        self.error = Some(error);
        outcome
    }

    fn writer(&self, yields: bool) -> RowWriter<'m> {
        let claim = self.seen.target.as_ref().map_or(0, |target| target.revision);
        RowWriter {
            target: &*self.mover.target.archive,
            writer: WriterRole::Mover(claim),
            cutoff: cutoff(self.mover.clock.now()),
            yields,
        }
    }

    async fn compare(&mut self, empty: bool) -> Result<(), MoveError> {
        let mut pair = self.mover.pair().await?;
        if empty {
            let counts = pair.target.counts().await.map_err(MoveError::Target)?;
            if counts != StoreCounts::default() {
                return Err(self.mover.not_empty(counts));
            }
        }
        let compared = pair.compare(Expect::Part, Position::default(), |_| (), self.on_progress);
        let last = compared.await.map_err(rows)?.last;
        self.copied = Position { pet: last, record: None };
        self.checked = Position::default();
        self.is_first_pass = true;
        Ok(())
    }

    /// Copies in passes until little is left.
    async fn follow(&mut self) -> Result<(), MoveError> {
        let mut last = u64::MAX;
        for _ in 0..MAX_PASSES {
            let began = Instant::now();
            // Services have half of the machine during the first pass, which is the longest.
            let count = self.pass(self.is_first_pass).await?;
            self.is_first_pass = false;
            if count <= SHORT && (began.elapsed() <= QUICK || count >= last) {
                return Ok(());
            }
            last = count;
        }
        Err(MoveError::TooFast)
    }

    /// Copies everything that was added since the last pass. Returns the number of animals.
    async fn pass(&mut self, yields: bool) -> Result<u64, MoveError> {
        let writer = self.writer(yields);
        let source = self.mover.source.archive.snapshot().await;
        let mut source = source.map_err(MoveError::Source)?;
        let Position { pet, record } = &mut self.copied;
        let count = writer.copy_pets(&mut *source, pet, (0, 0), self.on_progress).await;
        let count = count.map_err(rows)?;
        writer.copy_records(&mut *source, record, 0, self.on_progress).await.map_err(rows)?;
        let keys = writer.changed_keys(&mut *source).await.map_err(rows)?;
        writer.write(Rows { keys, ..Rows::default() }).await.map_err(rows)?;
        Ok(count)
    }

    /// Compares every row that was copied.
    async fn check(&mut self) -> Result<(), MoveError> {
        let (mut pair, through) = (self.mover.pair().await?, Expect::Through(self.copied));
        let compared = pair.compare(through, Position::default(), |_| (), self.on_progress);
        compared.await.map_err(rows)?;
        self.checked = self.copied;
        Ok(())
    }

    /// Copies the rest, and compares the rows since the last [check](Self::check).
    async fn finish(&mut self) -> Result<(), MoveError> {
        let writer = self.writer(false);
        let source = self.mover.source.archive.snapshot().await;
        let mut source = source.map_err(MoveError::Source)?;
        let (mut pets, mut records) = (Vec::new(), Vec::new());
        let limit = u32::try_from(writer.target.max_batch()).unwrap_or(u32::MAX);
        // Noted when the rows are written: this may be cut off by the limit of the seal.
        let mut copied = self.copied;
        loop {
            let next = source.pets(copied.pet, limit).await.map_err(MoveError::Source)?;
            let Some(end) = next.last() else { break };
            copied.pet = Some(end.id);
            pets.extend(next);
        }
        loop {
            let next = source.records(copied.record, limit).await.map_err(MoveError::Source)?;
            let Some(end) = next.last() else { break };
            copied.record = Some(end.position());
            records.extend(next.into_iter().filter(|record| record.at > writer.cutoff));
        }
        let keys = writer.changed_keys(&mut *source).await.map_err(rows)?;
        let highest = source.highest_ids().await.map_err(MoveError::Source)?;
        writer.write(Rows { pets, keys, records, highest }).await.map_err(rows)?;
        self.copied = copied;
        let target = self.mover.target.archive.snapshot().await.map_err(MoveError::Target)?;
        let mut pair = Pair { source, target, cutoff: writer.cutoff };
        let compared = pair.compare(Expect::Equal, self.checked, |_| (), self.on_progress);
        compared.await.map(drop).map_err(rows)
    }

    /// Compares everything that the source holds with the target, which has taken its place already. Under the seal, it
    /// is enough that nothing was added or changed since.
    async fn compare_behind(&mut self) -> Result<(), MoveError> {
        let Pair { source: mut ours, target: theirs, cutoff } = self.mover.pair().await?;
        let highest = ours.highest_ids().await.map_err(MoveError::Source)?;
        let rewrites = self.seen.source.as_ref().map_or(0, |source| source.rewrites);
        if self.sealed_at.is_some() {
            let is_same = self.behind == Some((highest, rewrites));
            return if is_same {
                Ok(())
            } else {
                Err(self.holds_more("rows that were added a moment ago"))
            };
        }
        let mut pair = Pair { source: theirs, target: ours, cutoff };
        let compared = pair.compare(Expect::Part, Position::default(), |_| (), self.on_progress);
        match compared.await.map(drop) {
            Ok(()) => {
                self.behind = Some((highest, rewrites));
                Ok(())
            }
            Err(TransferError::OtherData(Difference { what, source, target })) => {
                let (source, target) = (target, source);
                let difference = Difference { what, source, target };
                Err(self.holds_more(&difference.to_string()))
            }
            // The roles are exchanged.
            Err(TransferError::Source(error)) => Err(MoveError::Target(error)),
            Err(TransferError::Target(ArchiveError::Store(error))) => Err(MoveError::Source(error)),
            Err(error) => Err(rows(error)),
        }
    }

    fn holds_more(&self, difference: &str) -> MoveError {
        let [source, target] = [&self.mover.source.label, &self.mover.target.label];
        MoveError::Refused(format!(
            "{target} has taken the place of {source} already, but {source} is open and holds more, so it is a \
             copy that was used: {difference}; 'petstore store release {source} --force' makes a store of its \
             own of it"
        ))
    }
}

pub(super) fn rows(error: TransferError) -> MoveError {
    match error {
        TransferError::Canceled => MoveError::Canceled,
        TransferError::OtherData(difference) => MoveError::OtherRows(difference.to_string()),
        TransferError::Target(
            error @ (ArchiveError::OtherPet(_) | ArchiveError::Conflict { .. }),
        ) => MoveError::OtherRows(error.to_string()),
        error @ (TransferError::Source(_)
        | TransferError::Target(_)
        | TransferError::Refused(_)
        | TransferError::Different { .. }
        | TransferError::LowerHighestId { .. }
        | TransferError::ConcurrentWrite) => MoveError::Rows(error),
    }
}

/// Returns what an error means for the mover's next step.
fn outcome(error: &MoveError) -> Outcome {
    let of_store = |error: &StoreError| match error {
        StoreError::Unavailable(_) => Outcome::FailedForNow,
        StoreError::Sealed(_) => Outcome::Fenced,
        StoreError::Refused(_) | StoreError::Corrupt(_) => Outcome::Failed,
    };
    match error {
        MoveError::Source(error)
        | MoveError::Target(error)
        | MoveError::Rows(
            TransferError::Source(error) | TransferError::Target(ArchiveError::Store(error)),
        ) => of_store(error),
        // The work is not done, and the run ends.
        MoveError::Canceled => Outcome::FailedForNow,
        MoveError::OtherRows(_) | MoveError::Refused(_) => Outcome::Different,
        MoveError::Rows(_)
        | MoveError::Overtaken(_)
        | MoveError::Rewritten
        | MoveError::TooFast
        | MoveError::TooSlow
        | MoveError::LeftSealed(_) => Outcome::Failed,
    }
}
