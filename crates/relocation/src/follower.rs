//! The follower: copies what is newer in the store that decides to the standby.

use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

use petstore_domain::{ApiKey, Changes, PetId, Purged, load_keys};
use tokio::time;

use crate::{decision::Place, error::MoveError, side::Side};

/// Animals in one transaction of the standby.
const BATCH: u32 = 2_000;
/// How often the keys are compared while nothing waits for it.
const KEYS_INTERVAL: Duration = Duration::from_secs(1);
/// The shortest rest after a batch. It is as long as the batch took, so that the follower works for half of the
/// time, and additions beside it keep more than half of their speed on a machine with two processors.
const MIN_REST: Duration = Duration::from_millis(1);

/// How far a move has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveProgress {
    /// The store that decides.
    pub decides: Place,
    /// The highest identifier that the standby holds; 0 if it holds no animal.
    pub copied: i64,
    /// The highest identifier of the store that decides; 0 if it holds no animal.
    pub highest: i64,
}

/// Called after every batch. Breaking cancels what is left; what was copied stays.
pub type OnProgress<'w> = &'w mut (dyn FnMut(MoveProgress) -> ControlFlow<()> + Send);

/// How fast the follower works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// It rests after each batch.
    Gentle,
    /// Writes wait for it.
    Full,
}

/// What the follower of one direction remembers between two passes.
#[derive(Debug, Default)]
pub(crate) struct Follower {
    /// The keys as they were written to the standby last, and when.
    keys: Option<(Vec<ApiKey>, Instant)>,
    /// What was purged from the standby last.
    purged: Option<Purged>,
}

impl Follower {
    /// Copies what is there when it begins; how many animals it has copied.
    pub(crate) async fn pass(
        &mut self,
        (from, to): (&Side, &Side),
        decides: Place,
        pace: Pace,
        on_progress: OnProgress<'_>,
    ) -> Result<u64, MoveError> {
        let mut last = to.relocation.horizon().await?;
        let horizon = from.relocation.horizon().await?;
        let mut count = 0;
        while let Some(up_to) = horizon {
            let began = Instant::now();
            let changes = from.relocation.changes(last, up_to, BATCH).await?;
            if changes.pets.is_empty() && changes.purged == self.purged {
                break;
            }
            let caught_up = changes.pets.last().is_none_or(|pet| pet.id >= up_to);
            last = changes.pets.last().map(|pet| pet.id).or(last);
            count += changes.pets.len() as u64;
            let purged = changes.purged;
            to.relocation.apply(changes).await?;
            self.purged = purged;
            report(on_progress, decides, last, horizon)?;
            if caught_up {
                break;
            }
            if pace == Pace::Gentle {
                time::sleep(began.elapsed().max(MIN_REST)).await;
            }
        }
        self.copy_keys((from, to), pace).await?;
        report(on_progress, decides, last, horizon)?;
        Ok(count)
    }

    async fn copy_keys(&mut self, (from, to): (&Side, &Side), pace: Pace) -> Result<(), MoveError> {
        let is_fresh = |(_, at): &(Vec<ApiKey>, Instant)| at.elapsed() < KEYS_INTERVAL;
        if pace == Pace::Gentle && self.keys.as_ref().is_some_and(is_fresh) {
            return Ok(());
        }
        let keys =
            load_keys(&*from.keys).await?.into_all().map_err(petstore_domain::StoreError::from)?;
        if self.keys.as_ref().is_none_or(|(written, _)| *written != keys) {
            let changes = Changes { keys: keys.clone(), ..Changes::default() };
            to.relocation.apply(changes).await?;
        }
        self.keys = Some((keys, Instant::now()));
        Ok(())
    }
}

fn report(
    on_progress: OnProgress<'_>,
    decides: Place,
    copied: Option<PetId>,
    highest: Option<PetId>,
) -> Result<(), MoveError> {
    let [copied, highest] = [copied, highest].map(|id| id.map_or(0, |id| id.0));
    match on_progress(MoveProgress { decides, copied, highest }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(MoveError::Canceled),
    }
}

#[cfg(test)]
mod tests;
