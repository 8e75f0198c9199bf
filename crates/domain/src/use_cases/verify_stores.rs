//! Verifying that two stores hold the same.

mod digest;

use std::{fmt, ops::ControlFlow, sync::Arc};

pub use digest::RangeDigest;

use self::digest::Ranges;
use super::moving::{
    BATCH, Difference, LiveAttempts, MoveProgress, MoveStep, Watch, between_attempts, between_keys,
    between_pets,
};
use crate::{
    Archive, Clock, IdempotencyKey, Pet, ReadError, Snapshot, StoreCounts, Timestamp, Unavailable,
};

/// Compares two stores: every field of every animal, the API keys but for their last use, and the
/// idempotency records that still count.
pub struct VerifyStores {
    from: Arc<dyn Archive>,
    to: Arc<dyn Archive>,
    clock: Arc<dyn Clock>,
}

/// What two equal stores hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// How much; of the idempotency records, those that still count.
    pub counts: StoreCounts,
    /// A digest of every range of identifiers that holds an animal, ascending.
    pub ranges: Vec<RangeDigest>,
}

/// Why two stores could not be found equal.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The source could not be read.
    #[error("reading the source: {0}")]
    From(#[source] ReadError),
    /// The target could not be read.
    #[error("reading the target: {0}")]
    To(#[source] ReadError),
    /// They are not.
    #[error(
        "the stores differ: {difference}; the source holds {} animals and {} API keys, \
         the target {} and {}", .from.pets, .from.keys, .to.pets, .to.keys
    )]
    Different {
        /// The first one.
        difference: Difference,
        /// How much the source holds.
        from: StoreCounts,
        /// How much the target holds.
        to: StoreCounts,
    },
    /// The one who watches wanted no more.
    #[error("stopped")]
    Stopped,
}

/// Both stores, each as it was when the verification began.
struct Pair {
    from: Box<dyn Snapshot>,
    to: Box<dyn Snapshot>,
    counts: (StoreCounts, StoreCounts),
}

impl VerifyStores {
    /// A comparison of what `from` and `to` hold.
    #[must_use]
    pub fn new(from: Arc<dyn Archive>, to: Arc<dyn Archive>, clock: Arc<dyn Clock>) -> Self {
        Self { from, to, clock }
    }

    /// Compares what the stores hold now.
    ///
    /// # Errors
    /// [`VerifyError`].
    pub async fn run(&self, watch: Watch<'_>) -> Result<Verified, VerifyError> {
        let expired = self.clock.now().minus(IdempotencyKey::LIFETIME);
        let mut pair = self.open().await?;
        let mut ranges = Ranges::default();
        let pets = pair.pets(&mut ranges, watch).await?;
        let keys = pair.keys().await?;
        let attempts = pair.attempts(expired).await?;
        Ok(Verified { counts: StoreCounts { pets, keys, attempts }, ranges: ranges.finish() })
    }

    async fn open(&self) -> Result<Pair, VerifyError> {
        let from_gone = |error: Unavailable| VerifyError::From(error.into());
        let to_gone = |error: Unavailable| VerifyError::To(error.into());
        let mut from = self.from.snapshot().await.map_err(from_gone)?;
        let mut to = self.to.snapshot().await.map_err(to_gone)?;
        let counts = (
            from.counts().await.map_err(VerifyError::From)?,
            to.counts().await.map_err(VerifyError::To)?,
        );
        Ok(Pair { from, to, counts })
    }
}

impl Pair {
    /// Compares the animals; how many there are.
    async fn pets(&mut self, ranges: &mut Ranges, watch: Watch<'_>) -> Result<u64, VerifyError> {
        let (mut last, mut done, of) = (None, 0, self.counts.0.pets);
        loop {
            let from = self.from.pets(last, BATCH).await.map_err(VerifyError::From)?;
            let to = self.to.pets(last, BATCH).await.map_err(VerifyError::To)?;
            self.must_be_none(first_difference(&from, &to))?;
            let Some(end) = from.last() else { return Ok(done) };
            last = Some(end.id);
            done += from.len() as u64;
            ranges.take_all(&from);
            let progress = MoveProgress { step: MoveStep::ComparePets, done, of };
            if let ControlFlow::Break(()) = watch(progress) {
                return Err(VerifyError::Stopped);
            }
        }
    }

    /// Compares the API keys; how many there are.
    async fn keys(&mut self) -> Result<u64, VerifyError> {
        let from = self.from.keys().await.map_err(VerifyError::From)?;
        let to = self.to.keys().await.map_err(VerifyError::To)?;
        for index in 0..from.len().max(to.len()) {
            self.must_be_none(between_keys(from.get(index), to.get(index)))?;
        }
        Ok(from.len() as u64)
    }

    /// Compares the idempotency records that still count; how many there are.
    async fn attempts(&mut self, expired: Timestamp) -> Result<u64, VerifyError> {
        let mut done = 0;
        let mut from = LiveAttempts::of(&mut *self.from, expired);
        let mut to = LiveAttempts::of(&mut *self.to, expired);
        let difference = loop {
            let one = from.next().await.map_err(VerifyError::From)?;
            let other = to.next().await.map_err(VerifyError::To)?;
            let difference = between_attempts(one.as_ref(), other.as_ref());
            if difference.is_some() || one.is_none() {
                break difference;
            }
            done += 1;
        };
        self.must_be_none(difference).map(|()| done)
    }

    fn must_be_none(&self, difference: Option<Difference>) -> Result<(), VerifyError> {
        let (from, to) = self.counts;
        difference.map_or(Ok(()), |difference| Err(VerifyError::Different { difference, from, to }))
    }
}

fn first_difference(from: &[Pet], to: &[Pet]) -> Option<Difference> {
    if from == to {
        return None;
    }
    (0..from.len().max(to.len())).find_map(|index| between_pets(from.get(index), to.get(index)))
}

impl fmt::Debug for VerifyStores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifyStores").finish_non_exhaustive()
    }
}
