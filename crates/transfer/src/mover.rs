//! The mover: hands one store over to another while services use both. [`next_step`] decides each step.
//!
//! 1. *Claim* the new store, which is then being filled. The revision rises, so requests of earlier movers fail.
//! 2. *Compare and copy* in passes, each from a snapshot, until a pass is short and quick, or several were short.
//! 3. *Seal the old store, copy and compare the rest* within [`SEAL_LIMIT`], and *open the new store*.

mod decide;
mod observed;
mod step;
mod work;

#[cfg(test)]
mod tests;

use std::time::Duration;

use petstore_domain::{
    ArchiveError, Handover, Phase, StoreCounts, StoreError, StoreId, StoreState, Timestamp,
};
use tokio::time::{Instant, sleep, sleep_until};

use self::{
    decide::next_step,
    observed::{Goal, Observed},
    step::{Change, End, Outcome, Step},
};
use crate::{
    compare::{Pair, Position},
    error::TransferError,
    progress::{OnProgress, TransferStep, report},
    rows::Copied,
    store_ports::{StorePorts, within},
};

/// The time limit from sending the seal until the last row is copied and compared: writes wait meanwhile.
const SEAL_LIMIT: Duration = Duration::from_millis(700);
/// The shortest time between seal and opening: a service may answer from its cache for 100 ms after the seal.
const SEAL_TIME: Duration = Duration::from_millis(200);
/// The time limit of a call that reads or changes a state.
const CALL_LIMIT: Duration = Duration::from_secs(5);
/// The time limit of such a call while writes wait.
const SEALED_CALL_LIMIT: Duration = Duration::from_millis(500);
/// The pause before a sealed store is released. A running handover has opened one of the stores by then.
const RELEASE_PAUSE: Duration = Duration::from_millis(1_500);
/// The pause before a retry while writes wait.
const SEALED_PAUSE: Duration = Duration::from_millis(100);
/// The pause before any other retry.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// The largest number of retries of a run.
const TRIES: u32 = 60;
/// The time for which a mover waits for an answer after the user has asked for a stop.
const STOP_LIMIT: Duration = Duration::from_secs(5);

const TOO_SLOW: &str = "the last rows could not be copied fast enough, and writes do not wait longer; run the command \
                        again at a quieter hour";
const REWRITTEN: &str = "an import with identifiers, or SQL, keeps changing animals of the old store; stop that, and run \
                         the command again";

/// Hands one store over to another.
#[derive(Debug)]
pub struct Mover {
    source: StorePorts,
    target: StorePorts,
    now: Timestamp,
}

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveOutcome {
    /// The target has taken the source's place.
    HandedOver {
        /// The longest time that a write can have waited, counted from sending the seal.
        writes_waited: Duration,
    },
    /// The target had taken the source's place before.
    AlreadyHandedOver,
    /// The target had taken the source's place before, and the source had lost its seal. The source was restored from
    /// files, or its server lost its last changes. The target holds all rows of the source, which is sealed again.
    SealedAgain,
    /// The handover is canceled, and the source is open.
    Canceled,
}

/// The stores before a handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovePreview {
    /// The number of rows in the source.
    pub source: StoreCounts,
    /// The number of rows in the target.
    pub target: StoreCounts,
    /// `true` if the target has taken the source's place already.
    pub is_handed_over: bool,
}

impl Mover {
    /// Creates a mover from `source` to `target`. `now` is the current time, so the mover must run at once.
    #[must_use]
    pub fn new(source: StorePorts, target: StorePorts, now: Timestamp) -> Self {
        Self { source, target, now }
    }

    /// Compares the rows of the target with the source, and returns the row counts of both stores. Changes nothing.
    ///
    /// # Errors
    /// [`TransferError`] says why a handover would fail.
    pub async fn preview(&self, on_progress: OnProgress<'_>) -> Result<MovePreview, TransferError> {
        let mut run = Run::new(self, Goal::HandOver, on_progress);
        run.observe().await?;
        match next_step(&run.seen) {
            Step::End(end) => _ = run.ended(end)?,
            Step::Ask => return Err(run.failure()),
            Step::Change(..) | Step::Work(_) => run.compare().await?,
        }
        let mut pair = run.pair().await?;
        let source = pair.source.counts().await.map_err(TransferError::Source)?;
        let target = pair.target.counts().await.map_err(TransferError::target)?;
        Ok(MovePreview { source, target, is_handed_over: run.seen.is_handed_over() })
    }

    /// Hands the store over, or continues an earlier run.
    ///
    /// # Errors
    /// [`TransferError`].
    pub async fn run(&self, on_progress: OnProgress<'_>) -> Result<MoveOutcome, TransferError> {
        Box::pin(Run::new(self, Goal::HandOver, on_progress).finish()).await
    }

    /// Cancels a handover before the target is open: opens the source, then ends the filling of the target. The target
    /// keeps its rows for another run.
    ///
    /// # Errors
    /// [`TransferError`].
    pub async fn cancel(&self, on_progress: OnProgress<'_>) -> Result<MoveOutcome, TransferError> {
        Box::pin(Run::new(self, Goal::Cancel, on_progress).finish()).await
    }
}

/// One run of a mover.
struct Run<'m> {
    mover: &'m Mover,
    began: Instant,
    on_progress: OnProgress<'m>,
    seen: Observed,
    /// The last error.
    error: Option<TransferError>,
    copied: Copied,
    checked: Position,
    /// The time at which the seal was sent. Writes may wait from then on.
    sealed_at: Option<Instant>,
    stop_at: Option<Instant>,
}

impl<'m> Run<'m> {
    fn new(mover: &'m Mover, goal: Goal, on_progress: OnProgress<'m>) -> Self {
        Self {
            mover,
            began: Instant::now(),
            on_progress,
            seen: Observed::new(goal, TRIES),
            error: None,
            copied: Copied::default(),
            checked: Position::default(),
            sealed_at: None,
            stop_at: None,
        }
    }

    /// Returns the wall-clock time.
    fn now(&self) -> Timestamp {
        self.mover.now.plus(self.began.elapsed())
    }

    async fn pair(&mut self) -> Result<Pair, TransferError> {
        let Mover { source, target, .. } = self.mover;
        Pair::open(&*source.archive, &*target.archive, self.now()).await
    }

    async fn finish(mut self) -> Result<MoveOutcome, TransferError> {
        loop {
            self.observe().await?;
            let step = next_step(&self.seen);
            tracing::debug!(?step, "the mover's next step");
            let outcome = match &step {
                Step::End(end) => return self.ended(*end),
                Step::Change(change, state) => self.change(*change, state.clone()).await,
                Step::Work(work) => self.work(*work).await,
                Step::Ask => Outcome::Unanswered,
            };
            let is_reopened =
                matches!((&step, outcome), (Step::Change(Change::Reopen, _), Outcome::Done))
                    && self.sealed_at.take().is_some();
            self.seen.note(&step, outcome);
            if is_reopened || matches!(outcome, Outcome::Unanswered | Outcome::Failed) {
                sleep(if self.sealed_at.is_some() { SEALED_PAUSE } else { RETRY_PAUSE }).await;
            }
        }
    }

    /// Reads the state of the source, then the state of the target. Fails if [`STOP_LIMIT`] has passed since the user
    /// asked for a stop.
    async fn observe(&mut self) -> Result<(), TransferError> {
        if report(self.on_progress, TransferStep::ChangeState, 0, 0).is_err() {
            self.seen.stop();
            if *self.stop_at.get_or_insert_with(|| Instant::now() + STOP_LIMIT) <= Instant::now() {
                return Err(TransferError::failed(format!(
                    "the old store is sealed, and the new store may not be open, so writes wait; run the command \
                     again, or with --cancel ({})",
                    self.failure()
                )));
            }
        }
        let Mover { source, target, .. } = self.mover;
        let limit = if self.sealed_at.is_some() { SEALED_CALL_LIMIT } else { CALL_LIMIT };
        let state = within(limit, source.handover.state()).await.map_err(TransferError::Source);
        self.seen.source = state.map_err(|error| self.error = Some(error)).ok();
        let state = within(limit, target.handover.state()).await.map_err(TransferError::target);
        self.seen.target = state.map_err(|error| self.error = Some(error)).ok();
        self.seen.is_late = self.sealed_at.is_some_and(|at| at.elapsed() >= SEAL_LIMIT);
        Ok(())
    }

    async fn change(&mut self, change: Change, mut new: StoreState) -> Outcome {
        let Mover { source, target, .. } = self.mover;
        let is_of_source = change.is_of_source();
        let (ports, other) = if is_of_source { (source, target) } else { (target, source) };
        let expected = if is_of_source { &self.seen.source } else { &self.seen.target };
        if let Phase::Sealed { label, .. } = &mut new.phase {
            label.clone_from(&other.label);
        }
        let expected = expected.as_ref().map_or(0, |state| state.revision);
        let limit = match change {
            Change::Seal => {
                self.sealed_at = Some(Instant::now());
                SEAL_LIMIT
            }
            Change::Open => {
                sleep_until(self.sealed_at.unwrap_or_else(Instant::now) + SEAL_TIME).await;
                SEALED_CALL_LIMIT
            }
            Change::Claim | Change::Reopen | Change::GiveBack => CALL_LIMIT,
        };
        match within(limit, ports.handover.change_state(expected, new)).await {
            Ok(true) => Outcome::Done,
            Ok(false) => Outcome::Fenced,
            Err(error) if is_of_source => self.note_error(TransferError::Source(error)),
            Err(error) => self.note_error(TransferError::target(error)),
        }
    }

    /// Notes the error of a step, and returns the outcome of the step.
    fn note_error(&mut self, error: TransferError) -> Outcome {
        let (outcome, difference) = match &error {
            TransferError::Source(error) | TransferError::Target(ArchiveError::Store(error)) => {
                let outcome = match error {
                    StoreError::Unavailable(_) => Outcome::Unanswered,
                    StoreError::Sealed(_) => Outcome::Fenced,
                    StoreError::Refused(_) | StoreError::Corrupt(_) => Outcome::Failed,
                };
                (outcome, None)
            }
            TransferError::Canceled => {
                self.seen.stop();
                (Outcome::Fenced, None)
            }
            TransferError::OtherData(difference) => {
                (Outcome::Different, Some(difference.to_string()))
            }
            TransferError::Target(
                error @ (ArchiveError::OtherPet(_) | ArchiveError::Conflict { .. }),
            ) => (Outcome::Different, Some(error.to_string())),
            TransferError::Refused(_) => (Outcome::Different, None),
            TransferError::Different(_) | TransferError::Failed(_) => (Outcome::Failed, None),
        };
        self.error = Some(difference.map_or(error, |difference| {
            TransferError::Refused(format!(
                "the target holds other data: {difference}; the old store is open, and nothing is handed over: use an \
                 empty NEW"
            ))
        }));
        outcome
    }

    fn ended(&mut self, end: End) -> Result<MoveOutcome, TransferError> {
        let [source, target] = [&self.mover.source.label, &self.mover.target.label];
        let refusal = |label: &str, state: &Option<StoreState>| {
            let refusal = state.as_ref().and_then(|state| state.phase.refusal());
            format!("{label} {}", refusal.unwrap_or_default())
        };
        Err(TransferError::Refused(match end {
            End::HandedOver => {
                return Ok(self.sealed_at.map_or(MoveOutcome::AlreadyHandedOver, |at| {
                    MoveOutcome::HandedOver { writes_waited: at.elapsed() }
                }));
            }
            End::SealedAgain => return Ok(MoveOutcome::SealedAgain),
            End::Canceled => return Ok(MoveOutcome::Canceled),
            End::Stopped => return Err(TransferError::Canceled),
            End::Failed | End::Different => return Err(self.failure()),
            End::Rewritten => return Err(TransferError::failed(REWRITTEN)),
            End::RefusedSource => refusal(source, &self.seen.source),
            End::RefusedTarget => refusal(target, &self.seen.target),
            End::UsedTarget => format!(
                "{target} has taken the place of {source} before, and may be in use; name an empty store"
            ),
            End::SameStore => format!(
                "{target} has the identity of the old store, so it is a copy of the old store; use an empty store, or make \
                 the copy an independent store with 'petstore store release URL --force'"
            ),
            End::TooLate => format!(
                "{source} was handed over, and {target} is open; the way back is the same command with the \
                 URLs exchanged"
            ),
            End::Overtaken => format!(
                "another command has changed the state of {target} meanwhile; run only one of the commands again"
            ),
        }))
    }

    fn failure(&mut self) -> TransferError {
        self.error.take().unwrap_or_else(|| TransferError::failed(TOO_SLOW))
    }
}

/// Opens a store that is sealed or being filled, and sets its identity to `id`. Returns `false` if the state of the
/// store changed meanwhile.
///
/// Waits for 1.5 s before it opens a sealed store, so that a running handover ends first.
///
/// # Errors
/// [`StoreError`].
pub async fn release(handover: &dyn Handover, id: StoreId) -> Result<bool, StoreError> {
    let state = handover.state().await?;
    if matches!(state.phase, Phase::Sealed { .. }) {
        sleep(RELEASE_PAUSE).await;
    }
    let released = StoreState { id, ..state.next(Phase::Open { from: None }) };
    handover.change_state(state.revision, released).await
}
