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
    catalogue::{
        idempotency::{IdempotencyKey, IdempotencyRecord},
        pet::{Pet, PetId},
    },
    clock::Clock,
    timestamp::Timestamp,
    transfer::{
        archive::{Archive, Snapshot},
        live_records::LiveRecords,
        progress::{BATCH, OnProgress, TransferProgress, TransferStep, report},
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
        let mut batch = from.pets(present.last, BATCH).await.map_err(CopyError::From)?;
        let mut done = present.pets;
        loop {
            let step = TransferStep::CopyPets;
            report(on_progress, TransferProgress { step, done, total })?;
            let Some(end) = batch.last() else { return Ok(done - present.pets) };
            let last = Some(end.id);
            done += batch.len() as u64;
            // The source reads while the target writes.
            let (written, next) =
                future::join(self.restore_pets(batch), from.pets(last, BATCH)).await;
            written?;
            batch = next.map_err(CopyError::From)?;
        }
    }

    async fn restore_pets(&self, batch: Vec<Pet>) -> Result<(), CopyError> {
        let mut restore = self.to.restore().await.map_err(CopyError::target)?;
        restore.pets(batch).await.map_err(CopyError::To)?;
        restore.commit().await.map_err(CopyError::target)
    }

    async fn copy_keys(&self, from: &mut dyn Snapshot) -> Result<u64, CopyError> {
        let keys = from.keys().await.map_err(CopyError::From)?;
        let count = keys.len() as u64;
        if count > 0 {
            let mut restore = self.to.restore().await.map_err(CopyError::target)?;
            restore.keys(keys).await.map_err(CopyError::To)?;
            restore.commit().await.map_err(CopyError::target)?;
        }
        Ok(count)
    }

    async fn copy_records(
        &self,
        from: &mut dyn Snapshot,
        total: u64,
        cutoff: Timestamp,
        on_progress: OnProgress<'_>,
    ) -> Result<u64, CopyError> {
        let mut live = LiveRecords::new(from, cutoff);
        let mut batch = Vec::new();
        let mut done = 0;
        while let Some(record) = live.next().await.map_err(CopyError::From)? {
            batch.push(record);
            if batch.len() == BATCH as usize {
                done += self.restore_records(mem::take(&mut batch)).await?;
                let step = TransferStep::CopyRecords;
                report(on_progress, TransferProgress { step, done, total })?;
            }
        }
        Ok(done + self.restore_records(batch).await?)
    }

    async fn restore_records(&self, batch: Vec<IdempotencyRecord>) -> Result<u64, CopyError> {
        let count = batch.len() as u64;
        if count > 0 {
            let mut restore = self.to.restore().await.map_err(CopyError::target)?;
            restore.idempotency_records(batch).await.map_err(CopyError::To)?;
            restore.commit().await.map_err(CopyError::target)?;
        }
        Ok(count)
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
