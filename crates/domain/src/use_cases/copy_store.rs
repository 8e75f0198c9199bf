//! Copying a store into another.

mod check;
#[cfg(test)]
mod tests;

use std::{fmt, mem, ops::ControlFlow, sync::Arc};

use self::check::Found;
use super::moving::{BATCH, Difference, LiveAttempts, MoveProgress, MoveStep, Watch};
use crate::{
    Archive, AttemptRecord, Clock, IdempotencyKey, PetId, ReadError, RestoreError, Snapshot,
    Timestamp, Unavailable,
};

/// Copies the animals with their identifiers, the API keys, and the idempotency records that still
/// count.
///
/// Every batch is committed on its own, animals first, in ascending order: a copy that was cut off
/// is taken up by running it again, and so is one whose source has grown since. Before anything
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
    /// Idempotency records of the source that still count, all of which the target now holds.
    pub attempts: u64,
}

/// Why a copy ended early. What was committed stays, and running the copy again goes on from there.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The source could not be read.
    #[error("reading the source: {0}")]
    From(#[source] ReadError),
    /// The target could not be read or written.
    #[error("writing the target: {0}")]
    To(#[source] RestoreError),
    /// The target held something that the source does not. Nothing was written.
    #[error("the target holds other data and was left as it is: {0}")]
    OtherData(Difference),
    /// Somebody else wrote to the target while it was copied into.
    #[error(
        "somebody else wrote to the target meanwhile: it holds {to} animals and the source {from}"
    )]
    Disturbed {
        /// Animals in the source.
        from: u64,
        /// Animals in the target.
        to: u64,
    },
    /// The one who watches wanted no more.
    #[error("stopped")]
    Stopped,
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
    pub async fn run(&self, watch: Watch<'_>) -> Result<Copied, CopyError> {
        let expired = self.clock.now().minus(IdempotencyKey::LIFETIME);
        let mut from = self.from.snapshot().await.map_err(unreadable)?;
        let of = from.counts().await.map_err(CopyError::From)?.pets;
        let found = self.look(&mut *from, expired, watch).await?;
        let pets = self.copy_pets(&mut *from, &found, of, watch).await?;
        let keys = self.copy_keys(&mut *from).await?;
        let attempts = self.copy_attempts(&mut *from, expired, watch).await?;
        self.undisturbed(of).await?;
        Ok(Copied { found: found.pets, pets, keys, attempts })
    }

    /// What the target holds. Its snapshot ends here, so that it does not hold up the target's
    /// housekeeping while the copy is written.
    async fn look(
        &self,
        from: &mut dyn Snapshot,
        expired: Timestamp,
        watch: Watch<'_>,
    ) -> Result<Found, CopyError> {
        let mut to = self.to.snapshot().await.map_err(unwritable)?;
        check::holds_no_other_data(from, &mut *to, expired, watch).await
    }

    async fn copy_pets(
        &self,
        from: &mut dyn Snapshot,
        found: &Found,
        of: u64,
        watch: Watch<'_>,
    ) -> Result<u64, CopyError> {
        let mut last: Option<PetId> = found.last;
        let mut done = found.pets;
        loop {
            tell(watch, MoveProgress { step: MoveStep::CopyPets, done, of })?;
            let batch = from.pets(last, BATCH).await.map_err(CopyError::From)?;
            let Some(end) = batch.last() else { return Ok(done - found.pets) };
            last = Some(end.id);
            done += batch.len() as u64;
            let mut restore = self.to.restore().await.map_err(unwritable)?;
            restore.pets(batch).await.map_err(CopyError::To)?;
            restore.commit().await.map_err(unwritable)?;
        }
    }

    async fn copy_keys(&self, from: &mut dyn Snapshot) -> Result<u64, CopyError> {
        let keys = from.keys().await.map_err(CopyError::From)?;
        let count = keys.len() as u64;
        if count > 0 {
            let mut restore = self.to.restore().await.map_err(unwritable)?;
            restore.keys(keys).await.map_err(CopyError::To)?;
            restore.commit().await.map_err(unwritable)?;
        }
        Ok(count)
    }

    async fn copy_attempts(
        &self,
        from: &mut dyn Snapshot,
        expired: Timestamp,
        watch: Watch<'_>,
    ) -> Result<u64, CopyError> {
        let of = from.counts().await.map_err(CopyError::From)?.attempts;
        let mut live = LiveAttempts::of(from, expired);
        let mut batch = Vec::new();
        let mut done = 0;
        while let Some(record) = live.next().await.map_err(CopyError::From)? {
            batch.push(record);
            if batch.len() == BATCH as usize {
                done += self.restore_attempts(mem::take(&mut batch)).await?;
                tell(watch, MoveProgress { step: MoveStep::CopyAttempts, done, of })?;
            }
        }
        Ok(done + self.restore_attempts(batch).await?)
    }

    async fn restore_attempts(&self, batch: Vec<AttemptRecord>) -> Result<u64, CopyError> {
        let count = batch.len() as u64;
        if count > 0 {
            let mut restore = self.to.restore().await.map_err(unwritable)?;
            restore.attempts(batch).await.map_err(CopyError::To)?;
            restore.commit().await.map_err(unwritable)?;
        }
        Ok(count)
    }

    async fn undisturbed(&self, from: u64) -> Result<(), CopyError> {
        let mut to = self.to.snapshot().await.map_err(unwritable)?;
        let to = to.counts().await.map_err(unreadable_target)?.pets;
        if from == to { Ok(()) } else { Err(CopyError::Disturbed { from, to }) }
    }
}

fn tell(watch: Watch<'_>, progress: MoveProgress) -> Result<(), CopyError> {
    match watch(progress) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(CopyError::Stopped),
    }
}

fn unreadable(error: Unavailable) -> CopyError {
    CopyError::From(error.into())
}

fn unreadable_target(error: ReadError) -> CopyError {
    CopyError::To(error.into())
}

fn unwritable(error: Unavailable) -> CopyError {
    CopyError::To(error.into())
}

impl fmt::Debug for CopyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CopyStore").finish_non_exhaustive()
    }
}
