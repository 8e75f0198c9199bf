//! A mover's work on the rows of both stores.

use std::time::Duration;

use petstore_domain::{ArchiveError, StoreCounts, StoreError, WriterRole};
use tokio::time::{Instant, timeout};

use crate::{
    compare::{Expect, Pair, Position, cutoff},
    difference::Difference,
    error::{MoveError, TransferError},
    mover::{
        Run, SEAL_LIMIT,
        step::{Outcome, Work},
    },
    rows::{Copied, RowWriter},
};

/// The old store is sealed once a pass has copied at most so many animals, and took at most so long: the work under the
/// seal is such a pass. If none of so many short passes is quick, the stores are far away, and it is tried all the same.
const SHORT: u64 = 1_000;
const QUICK: Duration = Duration::from_millis(400);
const SLOW_PASSES: u32 = 5;
/// The number of passes that are not short before the mover gives up.
const MAX_PASSES: u32 = 100;

impl<'m> Run<'m> {
    pub(super) async fn work(&mut self, work: Work) -> Outcome {
        let done = match work {
            Work::Compare { empty } => self.compare(empty).await,
            Work::Follow => self.follow().await,
            Work::Finish => {
                let sealed_for = self.sealed_at.map_or(Duration::ZERO, |at| at.elapsed());
                let limit = SEAL_LIMIT.saturating_sub(sealed_for);
                let Ok(done) = timeout(limit, self.pass(false, u64::MAX)).await else {
                    self.error = Some(MoveError::TooSlow);
                    return Outcome::Late;
                };
                done.map(drop)
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
        let last = Position { pet: compared.await.map_err(rows)?.last, record: None };
        self.copied = Copied { last, ..Copied::default() };
        self.checked = Position::default();
        self.is_first_pass = true;
        Ok(())
    }

    /// Copies and compares in passes, until little is left.
    async fn follow(&mut self) -> Result<(), MoveError> {
        let mut short = 0;
        for _ in 0..MAX_PASSES {
            let began = Instant::now();
            // Services have half of the machine during the first pass, which is the longest.
            let is_short = self.pass(self.is_first_pass, SHORT).await?;
            self.is_first_pass = false;
            short += u32::from(is_short);
            if is_short && (began.elapsed() <= QUICK || short == SLOW_PASSES) {
                return Ok(());
            }
        }
        Err(MoveError::TooFast)
    }

    /// Copies everything that was added since the last pass. If these are at most `short` animals, compares all rows
    /// that were not compared yet, and returns `true`.
    async fn pass(&mut self, yields: bool, short: u64) -> Result<bool, MoveError> {
        let writer = self.writer(yields);
        let source = self.mover.source.archive.snapshot().await;
        let mut source = source.map_err(MoveError::Source)?;
        let progress = (0, StoreCounts::default());
        let pets = self.copied.pets;
        let copied = writer.copy(&mut *source, &mut self.copied, progress, self.on_progress);
        copied.await.map_err(rows)?;
        if self.copied.pets - pets > short {
            return Ok(false);
        }
        let target = self.mover.target.archive.snapshot().await.map_err(MoveError::Target)?;
        let mut pair = Pair { source, target, cutoff: writer.cutoff };
        let compared = pair.compare(Expect::Equal, self.checked, |_| (), self.on_progress);
        compared.await.map_err(rows)?;
        self.checked = self.copied.last;
        Ok(true)
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
