//! The use case of copying a store into another.

mod check;
mod error;
#[cfg(test)]
mod tests;

use std::{fmt, mem, sync::Arc};

use futures_util::future;

use self::check::Prefix;
pub use self::error::CopyError;
use crate::{
    catalogue::{idempotency::IdempotencyKey, pet::PetId},
    clock::Clock,
    timestamp::Timestamp,
    transfer::{
        archive::{Archive, Batch, Snapshot},
        live_records::LiveRecords,
        progress::{OnProgress, TransferProgress, TransferStep, report},
    },
};

/// Copies the animals with their identifiers, the API keys, and the idempotency records that have not
/// expired.
///
/// Every batch is committed on its own, animals first, in ascending order: a copy that was interrupted
/// is resumed by running it again, and so is one whose source has grown since. Before anything
/// is written, all that the target holds is compared with the source.
pub struct CopyStore {
    from: Arc<dyn Archive>,
    to: Arc<dyn Archive>,
    clock: Arc<dyn Clock>,
}

/// What a copy has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Animals that the target held before.
    pub found: u64,
    /// Animals that were copied now.
    pub pets: u64,
    /// API keys of the source, all of which the target now holds.
    pub keys: u64,
    /// Idempotency records of the source that have not expired, all of which the target now holds.
    pub idempotency_records: u64,
}

impl CopyStore {
    /// A copy of what `from` holds into `to`.
    #[must_use]
    pub fn new(from: Arc<dyn Archive>, to: Arc<dyn Archive>, clock: Arc<dyn Clock>) -> Self {
        Self { from, to, clock }
    }

    /// Copies what the source holds now.
    ///
    /// # Errors
    /// [`CopyError`].
    pub async fn run(&self, on_progress: OnProgress<'_>) -> Result<Copied, CopyError> {
        let cutoff = self.clock.now().minus(IdempotencyKey::LIFETIME);
        // A snapshot may take a while to begin: a source is checked for damage.
        let (from, to) = future::join(self.from.snapshot(), self.to.snapshot()).await;
        let (mut from, to) = (from.map_err(CopyError::From)?, to.map_err(CopyError::target)?);
        let total = from.counts().await.map_err(CopyError::From)?;
        let present = check::require_prefix(&mut *from, to, cutoff, on_progress).await?;
        let pets = self.copy_pets(&mut *from, &present, total.pets, on_progress).await?;
        let keys = self.copy_keys(&mut *from).await?;
        let idempotency_records =
            self.copy_records(&mut *from, total.idempotency_records, cutoff, on_progress).await?;
        self.require_count(total.pets).await?;
        Ok(Copied { found: present.pets, pets, keys, idempotency_records })
    }

    /// Compares all that the target holds with the source, and returns the last animal of the target. Nothing
    /// is written.
    ///
    /// # Errors
    /// [`CopyError`].
    pub async fn compare(&self, on_progress: OnProgress<'_>) -> Result<Option<PetId>, CopyError> {
        let cutoff = self.clock.now().minus(IdempotencyKey::LIFETIME);
        let (from, to) = future::join(self.from.snapshot(), self.to.snapshot()).await;
        let (mut from, to) = (from.map_err(CopyError::From)?, to.map_err(CopyError::target)?);
        Ok(check::require_prefix(&mut *from, to, cutoff, on_progress).await?.last)
    }

    async fn copy_pets(
        &self,
        from: &mut dyn Snapshot,
        present: &Prefix,
        total: u64,
        on_progress: OnProgress<'_>,
    ) -> Result<u64, CopyError> {
        let size = u32::try_from(self.to.max_batch()).unwrap_or(u32::MAX);
        let mut pets = from.pets(present.last, size).await.map_err(CopyError::From)?;
        let mut done = present.pets;
        loop {
            let step = TransferStep::CopyPets;
            report(on_progress, TransferProgress { step, done, total })?;
            let Some(end) = pets.last() else { return Ok(done - present.pets) };
            let last = Some(end.id);
            done += pets.len() as u64;
            // The source reads while the target writes.
            let write = self.write(Batch { pets, ..Batch::default() });
            let (written, next) = future::join(write, from.pets(last, size)).await;
            written?;
            pets = next.map_err(CopyError::From)?;
        }
    }

    async fn copy_keys(&self, from: &mut dyn Snapshot) -> Result<u64, CopyError> {
        let keys = from.keys().await.map_err(CopyError::From)?;
        for some in keys.chunks(self.to.max_batch()) {
            self.write(Batch { keys: some.to_vec(), ..Batch::default() }).await?;
        }
        Ok(keys.len() as u64)
    }

    async fn copy_records(
        &self,
        from: &mut dyn Snapshot,
        total: u64,
        cutoff: Timestamp,
        on_progress: OnProgress<'_>,
    ) -> Result<u64, CopyError> {
        let mut live = LiveRecords::new(from, cutoff);
        let (mut records, mut done) = (Vec::new(), 0);
        loop {
            let next = live.next().await.map_err(CopyError::From)?;
            let is_last = next.is_none();
            records.extend(next);
            if records.len() == self.to.max_batch() || is_last && !records.is_empty() {
                done += records.len() as u64;
                self.write(Batch { records: mem::take(&mut records), ..Batch::default() }).await?;
                let step = TransferStep::CopyRecords;
                report(on_progress, TransferProgress { step, done, total })?;
            }
            if is_last {
                return Ok(done);
            }
        }
    }

    async fn write(&self, batch: Batch) -> Result<(), CopyError> {
        self.to.write(batch).await.map(drop).map_err(CopyError::To)
    }

    /// The target holds as many animals as the source, so nothing else wrote to it.
    async fn require_count(&self, from: u64) -> Result<(), CopyError> {
        let mut to = self.to.snapshot().await.map_err(CopyError::target)?;
        let to = to.counts().await.map_err(CopyError::target)?.pets;
        if from == to { Ok(()) } else { Err(CopyError::ConcurrentWrite { from, to }) }
    }
}

impl fmt::Debug for CopyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CopyStore").finish_non_exhaustive()
    }
}
