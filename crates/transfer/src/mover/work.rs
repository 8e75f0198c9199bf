//! The mover's work on the rows of both stores.

use std::time::Duration;

use petstore_domain::{IdempotencyKey, RecordPosition, StoreCounts, WriterRole};
use tokio::time::{Instant, timeout_at};

use crate::{
    compare::{Pair, Position},
    difference::Expect,
    error::TransferError,
    mover::{
        Run, SEAL_LIMIT,
        step::{Outcome, Work},
    },
    rows::{Copied, RowWriter},
};

/// The largest number of animals in a short pass. The mover seals the source after a short, quick pass.
const SHORT: u64 = 1_000;
/// The longest time of a quick pass.
const QUICK: Duration = Duration::from_millis(400);
/// After this many short passes, the mover seals the source even if no pass was quick. Between stores that are far
/// apart, no pass is quick.
const SLOW_PASSES: u32 = 5;
/// The largest number of passes of a mover.
const MAX_PASSES: u32 = 100;

impl Run<'_> {
    pub(super) async fn work(&mut self, work: Work) -> Outcome {
        let done = match work {
            Work::Compare => self.compare().await,
            Work::Follow => self.follow().await,
            Work::Finish => {
                let deadline = self.sealed_at.unwrap_or_else(Instant::now) + SEAL_LIMIT;
                let done = timeout_at(deadline, self.pass(false, u64::MAX)).await;
                let Ok(done) = done else { return Outcome::Fenced };
                done.map(drop)
            }
        };
        done.map_or_else(|error| self.note_error(error), |()| Outcome::Done)
    }

    /// Compares every row of the target with the source. If the target has taken the source's place, compares every row of
    /// the source with the target.
    pub(super) async fn compare(&mut self) -> Result<(), TransferError> {
        self.checked = Position::default();
        if self.seen.is_handed_over() {
            return self.compare_behind().await;
        }
        let mut pair = self.pair().await?;
        if self.seen.must_be_empty() {
            let counts = pair.target.counts().await.map_err(TransferError::target)?;
            if counts != StoreCounts::default() {
                let (StoreCounts { pets, keys, records }, target) =
                    (counts, &self.mover.target.label);
                return Err(TransferError::Refused(format!(
                    "{target} is not empty; name an empty store (it holds {pets} animals, {keys} API keys and {records} \
                     idempotency records)"
                )));
            }
        }
        let compared = pair.compare(Expect::Part, self.checked, self.on_progress).await?;
        let last = Position { pet: compared.last, record: None };
        self.copied = Copied { last, ..Copied::default() };
        Ok(())
    }

    /// Copies and compares in passes, until little is left.
    async fn follow(&mut self) -> Result<(), TransferError> {
        let mut short = 0;
        for pass in 0..MAX_PASSES {
            let began = Instant::now();
            // The first pass is the longest, so it leaves half of the machine to services.
            let is_short = self.pass(pass == 0, SHORT).await?;
            short += u32::from(is_short);
            if is_short && (began.elapsed() <= QUICK || short == SLOW_PASSES) {
                return Ok(());
            }
        }
        let reason = "animals are added faster than they are copied; run the command again at a quieter hour";
        Err(TransferError::failed(reason))
    }

    /// Copies the rows added since the last pass. If at most `short` animals were added, also compares all rows that
    /// were not compared yet, and returns `true`. If the target has taken the source's place, copies nothing: compares
    /// the rows, and returns `true`.
    async fn pass(&mut self, yields: bool, short: u64) -> Result<bool, TransferError> {
        if self.seen.is_behind {
            return self.compare_behind().await.map(|()| true);
        }
        let claim = self.seen.target.as_ref().map_or(0, |target| target.revision);
        let target = &*self.mover.target.archive;
        let cutoff = IdempotencyKey::cutoff(self.now());
        let (writer, total) = (WriterRole::Mover(claim), StoreCounts::default());
        let writer = RowWriter { target, writer, cutoff, yields, total };
        let source = self.mover.source.archive.snapshot().await;
        let mut source = source.map_err(TransferError::Source)?;
        let before = self.copied.pets;
        writer.copy(&mut *source, &mut self.copied, self.on_progress).await?;
        if self.copied.pets - before > short {
            return Ok(false);
        }
        let target = target.snapshot().await.map_err(TransferError::target)?;
        let mut pair = Pair { source, target, cutoff };
        pair.compare(Expect::Equal, self.checked, self.on_progress).await?;
        self.checked = self.copied.last;
        Ok(true)
    }

    /// Compares the unchecked rows of the source with the target, which has already taken the place of the source.
    async fn compare_behind(&mut self) -> Result<(), TransferError> {
        let mut pair = self.pair().await?;
        let compared = pair.compare(Expect::Whole, self.checked, self.on_progress).await;
        let compared = compared.map_err(|error| {
            let TransferError::OtherData(difference) = error else { return error };
            let [source, target] = [&self.mover.source.label, &self.mover.target.label];
            TransferError::Refused(format!(
                "{target} has already taken the place of {source}, but {source} is open and holds a row that {target} \
                 does not hold: {difference}; probably {source} is a copy of the old store that was written to since; \
                 to make it an independent store, run 'petstore store release {source} --force'"
            ))
        })?;
        let record = compared.last.map(RecordPosition::end_of);
        self.checked = Position { pet: compared.last, record };
        Ok(())
    }
}
