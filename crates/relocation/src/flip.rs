//! The flip: the other store decides.

#[cfg(test)]
mod tests;

use std::{ops::ControlFlow, time::Duration};

use petstore_domain::{Relocation, Role};
use tokio::time;

use crate::{
    decision::Place,
    error::MoveError,
    follower::{OnProgress, Pace},
    mover::Mover,
};

/// How long writes may wait for the rest to be copied. After that the flip is undone.
const DRAIN_LIMIT: Duration = Duration::from_secs(1);
/// A pass that has copied no more animals than this has caught up: the rest is copied well within
/// [`DRAIN_LIMIT`]. While thousands are added in a second, no pass finds much fewer.
const CAUGHT_UP: u64 = 500;
/// How often the follower catches up before a flip. Each pass copies what was added during the one before, so a
/// follower that is faster than the additions needs a few. From half of these on it does not rest.
const MAX_PASSES: u32 = 1000;
/// The pause before a flip that was undone is tried again. Writes go on meanwhile.
const RETRY_PAUSE: Duration = Duration::from_millis(500);
/// How often a flip is tried.
const MAX_TRIES: u32 = 20;

impl Mover {
    /// Lets the store at `place` decide, unless it does. Catches up before.
    ///
    /// # Errors
    /// [`MoveError`]; then, as long as it was not decided, the store that decided still does.
    pub async fn flip(
        &mut self,
        place: Place,
        on_progress: OnProgress<'_>,
    ) -> Result<(), MoveError> {
        let mut tries = 0;
        loop {
            match self.try_to_flip(place, on_progress).await {
                Err(error) if error.is_passing() && tries < MAX_TRIES => {
                    tracing::debug!(%error, "the flip is tried again");
                    tries += 1;
                    time::sleep(RETRY_PAUSE).await;
                }
                done => return done,
            }
        }
    }

    async fn try_to_flip(
        &mut self,
        to: Place,
        on_progress: OnProgress<'_>,
    ) -> Result<(), MoveError> {
        let mut passes = 0;
        loop {
            let (_, decides) = self.settled().await?;
            if decides == to {
                return Ok(());
            }
            let pace = if passes < MAX_PASSES / 2 { Pace::Gentle } else { Pace::Full };
            if self.pass(decides, pace, on_progress).await? <= CAUGHT_UP {
                break;
            }
            passes += 1;
            if passes == MAX_PASSES {
                return Err(MoveError::Outrun);
            }
        }
        let (rows, decides) = self.settled().await?;
        let differences = [&rows.own, &rows.other].into_iter().flatten();
        let differences = differences.map(|row| &row.differences).find(|found| found.count > 0);
        if let Some(found) = differences {
            let (count, last) = (found.count, found.last.clone().unwrap_or_default());
            return Err(MoveError::Different { count, last });
        }
        let row = rows.of(decides).ok_or(MoveError::NoMove)?;
        let draining = row.with_role(Role::Draining);
        self.change(decides, row, &draining).await?;
        // The observer may not cancel it from here on: writes wait.
        let mut uncancelled = |progress| {
            let _ = on_progress(progress);
            ControlFlow::Continue(())
        };
        let drained =
            time::timeout(DRAIN_LIMIT, self.pass(decides, Pace::Full, &mut uncancelled)).await;
        let drained = drained.map_err(|_| MoveError::Interrupted).and_then(|drained| drained);
        if let Err(error) = drained {
            // If this fails, whoever looks next does it.
            self.change(decides, &draining, &draining.with_role(Role::Deciding)).await?;
            return Err(error);
        }
        self.change(decides, &draining, &draining.with_role(Role::Standby)).await?;
        // The other store is opened by the first who looks.
        self.settled().await.map(drop)
    }

    async fn change(
        &self,
        place: Place,
        from: &Relocation,
        to: &Relocation,
    ) -> Result<(), MoveError> {
        let changed = self.side(place).relocation.change(from.revision, to.clone()).await?;
        if changed { Ok(()) } else { Err(MoveError::Interrupted) }
    }
}
