//! The mover: from two stores to one that has taken the other's place.
//!
//! 1. *Claim.* The new store becomes *filling*. Each start raises its revision, which ends whatever an earlier mover
//!    still has under way there. An old store that a mover has left sealed is opened again.
//! 2. *Copy and follow.* All that the new store holds is compared with the old one; then batch after batch is copied
//!    in the order of the identifiers, and the last animals are compared again each time.
//! 3. *Seal, copy the rest, compare, open.* In less than [`SEAL_LIMIT`], or the old store is opened again.
//!
//! The new store is opened with a revision above the old one's, so of two open stores it is clear which one counts.

use std::{collections::BTreeMap, mem, pin::Pin, sync::Arc, time::Duration};

use petstore_domain::{
    Batch, Changes, Clock, Handover, IdempotencyRecord, Pet, PetId, Phase, StoreCounts, StoreError,
    StoreId, StoreState, Writer, load_keys,
};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    compare::{Compared, Expect, compare},
    error::{MoveError, TransferError},
    progress::{OnProgress, TransferStep, report},
    side::Side,
};

/// Animals that are read at a time.
const BATCH: u32 = 10_000;
/// The last animals that were copied, which are compared again with the next batch: a store that was restored from a
/// backup meanwhile holds others.
const OVERLAP: usize = 100;
/// The old store is sealed once a batch had no more animals than that, and was copied as quickly as that or cannot be
/// copied more quickly: the stores may be far away.
const SMALL: usize = 1_000;
const QUICK: Duration = Duration::from_millis(200);
/// So many batches that are not small, of what is added meanwhile, and the mover gives up.
const MAX_PASSES: u32 = 100;
/// How long the old store may be sealed before it is opened again.
const SEAL_LIMIT: Duration = Duration::from_secs(5);
/// How long the old store is sealed at least: a service may give a page that it has kept for 100 ms.
const SEAL_TIME: Duration = Duration::from_millis(200);
/// How often the mover begins anew, because animals were changed or a store was not to be reached.
const MAX_TRIES: u32 = 60;
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Hands one store over to another.
pub struct Mover {
    from: Side,
    to: Side,
    clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for Mover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mover")
            .field("from", &self.from)
            .field("to", &self.to)
            .finish_non_exhaustive()
    }
}

/// How one attempt has ended without an error.
enum Attempt {
    HandedOver,
    /// The new store was open already.
    NothingToDo,
    /// Animals of the old store were changed meanwhile.
    Rewritten,
}

impl Mover {
    /// Makes a mover from one store to the other.
    #[must_use]
    pub fn new(from: Side, to: Side, clock: Arc<dyn Clock>) -> Self {
        Self { from, to, clock }
    }

    /// Hands the store over; also goes on where an earlier run has ended. How long the old store was sealed, or
    /// `None` if the new one was open already. In a box, so that it is compiled with this crate and not with its callers.
    ///
    /// # Errors
    /// [`MoveError`].
    pub fn run<'a>(
        &'a self,
        on_progress: OnProgress<'a>,
    ) -> Pin<Box<dyn Future<Output = Result<Option<Duration>, MoveError>> + Send + 'a>> {
        Box::pin(self.run_to_end(on_progress))
    }

    async fn run_to_end(&self, on_progress: OnProgress<'_>) -> Result<Option<Duration>, MoveError> {
        let (mut tries, mut before) = (0, None);
        loop {
            tries += 1;
            let mut paused = Duration::ZERO;
            match self.attempt(&mut before, &mut paused, on_progress).await {
                Ok(Attempt::HandedOver) => return Ok(Some(paused)),
                Ok(Attempt::NothingToDo) => return Ok(None),
                Ok(Attempt::Rewritten) if tries < MAX_TRIES => {}
                Ok(Attempt::Rewritten) => return Err(MoveError::Rewritten),
                Err(error) if error.passes() && tries < MAX_TRIES => sleep(RETRY_PAUSE).await,
                Err(error) => {
                    if matches!(error, MoveError::Compare(TransferError::OtherData(_))) {
                        self.give_back(before).await;
                    }
                    return Err(error);
                }
            }
        }
    }

    /// Leaves the new store as it was found, if it was the old one of an earlier handover. One that was empty stays
    /// *filling*: it holds a part of something, and no service may use it.
    async fn give_back(&self, before: Option<Phase>) {
        let Some(phase @ Phase::Sealed { .. }) = before else { return };
        let Ok(state) = self.to.handover.state().await else { return };
        if matches!(state.phase, Phase::Filling { .. }) {
            let changed = self.to.handover.change_state(state.revision, state.with(phase)).await;
            if let Err(error) = changed {
                tracing::warn!(%error, "the new store stays as it is");
            }
        }
    }

    /// Takes the new store, and opens an old one that was left sealed. `None` if nothing is left to do. With the
    /// phase in which the new store was.
    async fn claim(&self) -> Result<(Option<StoreState>, Phase), MoveError> {
        let (from, to) = (self.old_state().await?, self.new_state().await?);
        let refuse =
            |side: &Side, why: &str| Err(MoveError::Refused(format!("{} {why}", side.label)));
        if from.id == to.id {
            return refuse(
                &self.to,
                "has the identity of the old store, so it is a copy of it; use an empty store, or \
                 'petstore store release URL --force' makes it a store of its own",
            );
        }
        if to.succeeds(&from) {
            self.seal_again(&from, &to).await?;
            return Ok((None, to.phase));
        }
        match &from.phase {
            Phase::Open { .. } => {}
            Phase::Sealed { to: other, .. } if *other == to.id => {}
            phase @ (Phase::Filling { .. } | Phase::Sealed { .. }) => {
                return refuse(&self.from, &phase.refusal().unwrap_or_default());
            }
        }
        match &to.phase {
            Phase::Filling { from: other } | Phase::Sealed { to: other, .. }
                if *other == from.id => {}
            Phase::Open { .. } if self.is_empty().await? => {}
            Phase::Open { .. } => return refuse(&self.to, "is not empty; name an empty store"),
            phase @ (Phase::Filling { .. } | Phase::Sealed { .. }) => {
                return refuse(&self.to, &phase.refusal().unwrap_or_default());
            }
        }
        let revision = from.revision.max(to.revision) + 1;
        let claim = StoreState { revision, phase: Phase::Filling { from: from.id }, ..to.clone() };
        let claimed = self.to.handover.change_state(to.revision, claim.clone()).await;
        require(claimed.map_err(MoveError::to)?, &self.to)?;
        if let Phase::Sealed { .. } = from.phase {
            self.open_again(&from, Phase::Open { from: Some(to.id) }).await?;
        }
        Ok((Some(claim), to.phase))
    }

    /// Seals the old store again if it has forgotten its seal, as after a failover that lost it.
    async fn seal_again(&self, from: &StoreState, to: &StoreState) -> Result<(), MoveError> {
        if !matches!(from.phase, Phase::Open { .. }) {
            return Ok(());
        }
        let sealed = from.with(Phase::Sealed { to: to.id, label: self.to.label.clone() });
        let changed = self.from.handover.change_state(from.revision, sealed).await;
        require(changed.map_err(MoveError::From)?, &self.from)
    }

    async fn is_empty(&self) -> Result<bool, MoveError> {
        let counts = async { self.to.archive.snapshot().await?.counts().await };
        let StoreCounts { pets, keys, idempotency_records } =
            counts.await.map_err(MoveError::to)?;
        Ok(pets + keys + idempotency_records == 0)
    }

    async fn attempt(
        &self,
        before: &mut Option<Phase>,
        paused: &mut Duration,
        on_progress: OnProgress<'_>,
    ) -> Result<Attempt, MoveError> {
        let (claim, phase) = self.claim().await?;
        let Some(claim) = &claim else { return Ok(Attempt::NothingToDo) };
        before.get_or_insert(phase);
        let state = self.old_state().await?;
        let both = (&*self.from.archive, &*self.to.archive);
        let compared = compare(both, Expect::Prefix, self.clock.now(), |_| (), on_progress).await;
        let Compared { last, total, counts, .. } = compared.map_err(MoveError::of_comparison)?;
        let backlog = total.pets.saturating_sub(counts.pets);
        let mut tail = Tail { last, ..Tail::default() };
        if !self.follow(&mut tail, claim, backlog, on_progress).await? {
            return Ok(Attempt::Rewritten);
        }
        self.copy_keys(claim).await?;
        let sealed = state.with(Phase::Sealed { to: claim.id, label: self.to.label.clone() });
        let changed = self.from.handover.change_state(state.revision, sealed.clone()).await;
        require(changed.map_err(MoveError::From)?, &self.from)?;
        let began = Instant::now();
        let mut opening = None;
        let rest = self.finish(&mut tail, claim, &sealed, &mut opening, began);
        let late = |_| Err(MoveError::to(StoreError::unavailable("it took too long")));
        let done = timeout(SEAL_LIMIT, rest).await.unwrap_or_else(late);
        *paused = began.elapsed();
        if let Ok(Some(true)) = done {
            return Ok(Attempt::HandedOver);
        }
        if let Some(opened) = opening
            && self.is_opened(claim, &opened).await?
        {
            return Ok(Attempt::HandedOver);
        }
        self.open_again(&sealed, state.phase).await?;
        done.map(|_| Attempt::Rewritten)
    }

    /// Copies the `backlog`, and what is added meanwhile until little of it is left. `false` if the old store holds other
    /// animals than it held.
    async fn follow(
        &self,
        tail: &mut Tail,
        claim: &StoreState,
        backlog: u64,
        on_progress: OnProgress<'_>,
    ) -> Result<bool, MoveError> {
        let (mut done, mut passes, mut last, mut yields) = (0, 0, usize::MAX, true);
        loop {
            let began = Instant::now();
            let Some(count) = self.pass(tail, claim).await? else { return Ok(false) };
            let took = began.elapsed();
            done += count as u64;
            // How many there are, only the end shows.
            report(on_progress, TransferStep::CopyPets, done, 0)
                .map_err(|_| MoveError::Canceled)?;
            let gains = count < last;
            if count <= SMALL && (took <= QUICK || !gains) {
                return Ok(true);
            }
            passes += u32::from(done > backlog);
            if passes > MAX_PASSES {
                return Err(MoveError::TooFast);
            }
            // Services have half of the machine, until they are seen to add faster than that lets them be followed.
            yields &= passes == 0 || gains;
            if yields {
                sleep(took).await;
            }
            last = count;
        }
    }

    /// Copies the next batch. Returns how many animals it had, or `None` if the last ones are others than they were.
    async fn pass(&self, tail: &mut Tail, claim: &StoreState) -> Result<Option<usize>, MoveError> {
        let changes = self.from.handover.changes(tail.after(), BATCH).await;
        let Changes { mut pets, records } = changes.map_err(MoveError::From)?;
        if !pets.starts_with(&tail.pets) {
            return Ok(None);
        }
        let new = pets.split_off(tail.pets.len());
        let count = new.len();
        tail.extend(&new);
        // An animal and its record are written together: who goes on later looks only above the last animal.
        let mut of_pets: BTreeMap<PetId, Vec<IdempotencyRecord>> = BTreeMap::new();
        for record in records {
            of_pets.entry(record.pet).or_default().push(record);
        }
        let mut batch = Batch::default();
        for pet in new {
            let records = of_pets.remove(&pet.id).unwrap_or_default();
            let rows = batch.pets.len() + batch.records.len() + 1 + records.len();
            if rows > self.to.archive.max_batch() {
                self.fill(claim, mem::take(&mut batch)).await?;
            }
            batch.pets.push(pet);
            batch.records.extend(records);
        }
        if !batch.pets.is_empty() {
            self.fill(claim, batch).await?;
        }
        Ok(Some(count))
    }

    async fn copy_keys(&self, claim: &StoreState) -> Result<(), MoveError> {
        let (from, to) = tokio::join!(load_keys(&*self.from.keys), load_keys(&*self.to.keys));
        let from = from.and_then(|keys| Ok(keys.into_all()?)).map_err(MoveError::From)?;
        let to = to.and_then(|keys| Ok(keys.into_all()?)).map_err(MoveError::to)?;
        let changed: Vec<_> = from.into_iter().filter(|key| !to.contains(key)).collect();
        for keys in changed.chunks(self.to.archive.max_batch()) {
            self.fill(claim, Batch { keys: keys.to_vec(), ..Batch::default() }).await?;
        }
        Ok(())
    }

    /// Writes a batch to the new store, unless another mover has claimed it.
    async fn fill(&self, claim: &StoreState, batch: Batch) -> Result<(), MoveError> {
        let batch = Batch { writer: Writer::Mover(claim.revision), ..batch };
        self.to.archive.write(batch).await.map(drop).map_err(MoveError::To)
    }

    /// Copies the rest, compares, and opens the new store; `Some(true)` if it is open. Nobody writes meanwhile.
    async fn finish(
        &self,
        tail: &mut Tail,
        claim: &StoreState,
        sealed: &StoreState,
        opening: &mut Option<StoreState>,
        began: Instant,
    ) -> Result<Option<bool>, MoveError> {
        if self.old_state().await?.rewrites != sealed.rewrites {
            return Ok(None);
        }
        loop {
            match self.pass(tail, claim).await? {
                None => return Ok(None),
                Some(count) if count < BATCH as usize - OVERLAP => break,
                Some(_) => {}
            }
        }
        self.copy_keys(claim).await?;
        let (ours, theirs) = tokio::join!(
            self.from.handover.changes(tail.after(), BATCH),
            self.to.handover.changes(tail.after(), BATCH),
        );
        let (ours, theirs) = (ours.map_err(MoveError::From)?, theirs.map_err(MoveError::to)?);
        if sorted(ours) != sorted(theirs) {
            return Ok(None);
        }
        sleep(SEAL_TIME.saturating_sub(began.elapsed())).await;
        let revision = claim.revision.max(sealed.revision) + 1;
        let phase = Phase::Open { from: Some(sealed.id) };
        let open = StoreState { revision, phase, ..claim.clone() };
        *opening = Some(open.clone());
        let opened = self.to.handover.change_state(claim.revision, open).await;
        Ok(Some(opened.map_err(MoveError::to)?))
    }

    /// Returns whether the new store is open, of which the answer was lost. If it is not, it cannot become so
    /// any more.
    async fn is_opened(&self, claim: &StoreState, opened: &StoreState) -> Result<bool, MoveError> {
        let decide = async {
            if self.to.handover.state().await?.revision == opened.revision {
                return Ok(true);
            }
            // No longer what the lost change expects.
            let next = StoreState { revision: opened.revision + 1, ..claim.clone() };
            self.to.handover.change_state(claim.revision, next).await?;
            Ok::<_, StoreError>(self.to.handover.state().await?.revision == opened.revision)
        };
        let left = |error: &dyn std::fmt::Display| MoveError::LeftSealed(error.to_string());
        let decided = timeout(SEAL_LIMIT, decide).await;
        decided.map_err(|error| left(&error))?.map_err(|error| left(&error))
    }

    /// Opens the old store that `sealed` describes.
    async fn open_again(&self, sealed: &StoreState, phase: Phase) -> Result<(), MoveError> {
        let opened = self.from.handover.change_state(sealed.revision, sealed.with(phase)).await;
        let opened = opened.map_err(|error| MoveError::LeftSealed(error.to_string()))?;
        require(opened, &self.from)
    }

    async fn old_state(&self) -> Result<StoreState, MoveError> {
        self.from.handover.state().await.map_err(MoveError::From)
    }

    async fn new_state(&self) -> Result<StoreState, MoveError> {
        self.to.handover.state().await.map_err(MoveError::to)
    }
}

/// The last animals that were copied.
#[derive(Default)]
struct Tail {
    pets: Vec<Pet>,
    /// The last one of the new store, where none was copied yet.
    last: Option<PetId>,
}

impl Tail {
    /// Returns what comes before them.
    fn after(&self) -> Option<PetId> {
        match self.pets.first() {
            None => self.last,
            Some(first) => first.id.0.checked_sub(1).map(PetId),
        }
    }

    fn extend(&mut self, new: &[Pet]) {
        self.pets.extend_from_slice(&new[new.len().saturating_sub(OVERLAP)..]);
        self.pets.drain(..self.pets.len().saturating_sub(OVERLAP));
    }
}

fn sorted(mut changes: Changes) -> Changes {
    changes.records.sort_by_key(|record| record.pet);
    changes
}

fn require(changed: bool, side: &Side) -> Result<(), MoveError> {
    if changed { Ok(()) } else { Err(MoveError::Overtaken(side.label.clone())) }
}

/// Gives up to hand `from` over to `to`, which was not opened yet: first `to` takes nothing more, then `from` is
/// opened. `to` keeps what it holds, for another run.
///
/// # Errors
/// [`MoveError`].
pub async fn cancel(from: &Side, to: &Side) -> Result<(), MoveError> {
    let from_state = from.handover.state().await.map_err(MoveError::From)?;
    let to_state = to.handover.state().await.map_err(MoveError::to)?;
    if to_state.succeeds(&from_state) {
        return Err(MoveError::Refused(format!(
            "{} was handed over, and {} is open; the way back is the same command with the URLs exchanged",
            from.label, to.label
        )));
    }
    if to_state.phase == (Phase::Filling { from: from_state.id }) {
        let ended = to_state.with(Phase::Sealed { to: from_state.id, label: from.label.clone() });
        let changed = to.handover.change_state(to_state.revision, ended).await;
        require(changed.map_err(MoveError::to)?, to)?;
    }
    if matches!(&from_state.phase, Phase::Sealed { to, .. } if *to == to_state.id) {
        let opened = from_state.with(Phase::Open { from: Some(to_state.id) });
        let changed = from.handover.change_state(from_state.revision, opened).await;
        require(changed.map_err(MoveError::From)?, from)?;
    }
    Ok(())
}

/// Makes a store of its own of one that is sealed or being filled: it gets the identity `id`, and is opened.
///
/// # Errors
/// [`StoreError`].
pub async fn release(handover: &dyn Handover, id: StoreId) -> Result<bool, StoreError> {
    let state = handover.state().await?;
    let released = StoreState { id, ..state.with(Phase::Open { from: None }) };
    handover.change_state(state.revision, released).await
}
