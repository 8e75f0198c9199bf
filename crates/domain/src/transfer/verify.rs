//! The use case of verifying that two stores hold the same.

mod digest;

use std::{fmt, sync::Arc};

pub use digest::RangeDigest;

use self::digest::Ranges;
use crate::{
    catalogue::{idempotency::IdempotencyKey, pet::Pet},
    clock::Clock,
    error::StoreError,
    timestamp::Timestamp,
    transfer::{
        archive::{Archive, Snapshot, StoreCounts},
        difference::{Difference, between_keys, between_pets, between_records},
        live_records::LiveRecords,
        progress::{BATCH, Canceled, OnProgress, TransferProgress, TransferStep, report},
    },
};

/// Compares two stores: every field of every animal, the API keys but for their last use, and the
/// idempotency records that have not expired.
pub struct VerifyStores {
    from: Arc<dyn Archive>,
    to: Arc<dyn Archive>,
    clock: Arc<dyn Clock>,
}

/// What two equal stores hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// How much; of the idempotency records, those that have not expired.
    pub counts: StoreCounts,
    /// A digest of every range of identifiers that holds an animal, ascending.
    pub ranges: Vec<RangeDigest>,
}

/// Why two stores could not be found equal.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The source could not be read.
    #[error("reading the source: {0}")]
    From(#[source] StoreError),
    /// The target could not be read.
    #[error("reading the target: {0}")]
    To(#[source] StoreError),
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
    /// The observer canceled it.
    #[error("canceled")]
    Canceled,
}

impl From<Canceled> for VerifyError {
    fn from(Canceled: Canceled) -> Self {
        Self::Canceled
    }
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
    pub async fn run(&self, on_progress: OnProgress<'_>) -> Result<Verified, VerifyError> {
        let cutoff = self.clock.now().minus(IdempotencyKey::LIFETIME);
        let mut pair = self.open().await?;
        let mut ranges = Ranges::default();
        let pets = pair.pets(&mut ranges, on_progress).await?;
        let keys = pair.keys().await?;
        let idempotency_records = pair.records(cutoff).await?;
        let counts = StoreCounts { pets, keys, idempotency_records };
        Ok(Verified { counts, ranges: ranges.finish() })
    }

    async fn open(&self) -> Result<Pair, VerifyError> {
        let mut from = self.from.snapshot().await.map_err(VerifyError::From)?;
        let mut to = self.to.snapshot().await.map_err(VerifyError::To)?;
        let counts = (
            from.counts().await.map_err(VerifyError::From)?,
            to.counts().await.map_err(VerifyError::To)?,
        );
        Ok(Pair { from, to, counts })
    }
}

impl Pair {
    /// Compares the animals; how many there are.
    async fn pets(
        &mut self,
        ranges: &mut Ranges,
        on_progress: OnProgress<'_>,
    ) -> Result<u64, VerifyError> {
        let (mut last, mut done, total) = (None, 0, self.counts.0.pets);
        loop {
            let from = self.from.pets(last, BATCH).await.map_err(VerifyError::From)?;
            let to = self.to.pets(last, BATCH).await.map_err(VerifyError::To)?;
            self.require_none(first_difference(&from, &to))?;
            let Some(end) = from.last() else { return Ok(done) };
            last = Some(end.id);
            done += from.len() as u64;
            ranges.add_all(&from);
            let step = TransferStep::ComparePets;
            report(on_progress, TransferProgress { step, done, total })?;
        }
    }

    /// Compares the API keys; how many there are.
    async fn keys(&mut self) -> Result<u64, VerifyError> {
        let from = self.from.keys().await.map_err(VerifyError::From)?;
        let to = self.to.keys().await.map_err(VerifyError::To)?;
        for index in 0..from.len().max(to.len()) {
            self.require_none(between_keys(from.get(index), to.get(index)))?;
        }
        Ok(from.len() as u64)
    }

    /// Compares the idempotency records that have not expired; how many there are.
    async fn records(&mut self, cutoff: Timestamp) -> Result<u64, VerifyError> {
        let mut done = 0;
        let mut from = LiveRecords::new(&mut *self.from, cutoff);
        let mut to = LiveRecords::new(&mut *self.to, cutoff);
        let difference = loop {
            let one = from.next().await.map_err(VerifyError::From)?;
            let other = to.next().await.map_err(VerifyError::To)?;
            let difference = between_records(one.as_ref(), other.as_ref());
            if difference.is_some() || one.is_none() {
                break difference;
            }
            done += 1;
        };
        self.require_none(difference).map(|()| done)
    }

    fn require_none(&self, difference: Option<Difference>) -> Result<(), VerifyError> {
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
