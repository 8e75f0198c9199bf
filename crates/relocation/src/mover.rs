//! The use case of moving a store: what every step needs, and following.

use std::{fmt, time::Duration};

use tokio::time;

use crate::{
    decision::{Decision, Place},
    error::MoveError,
    follower::{Follower, OnProgress, Pace},
    side::Side,
    steps::{Rows, Steps},
};

/// The pause between two passes of the follower.
const PASS_INTERVAL: Duration = Duration::from_millis(250);
/// The pause before rows are read again that change, or contradict each other, right now.
const ROWS_POLL: Duration = Duration::from_millis(20);
/// How often they are read until the move is given up: some seconds, more than a half-done step needs.
const MAX_LOOKS: u32 = 250;
/// How often in a row the follower may fail before it ends: with the pauses, a minute and more.
const MAX_FAILURES: u32 = 240;

/// Shows a URL without its password. Two URLs that show alike are one store.
pub(crate) type ShowUrl = Box<dyn Fn(&str) -> String + Send + Sync>;

/// Moves the store `from` to the store `to`.
pub struct Mover {
    pub(crate) from: Side,
    pub(crate) to: Side,
    /// By these a service opens them.
    pub(crate) urls: [String; 2],
    pub(crate) shown: ShowUrl,
    steps: Steps,
    followers: [Follower; 2],
}

impl Mover {
    /// A move between two stores, with the URLs that open them from anywhere. `shown` shows such a URL
    /// without its password; two URLs that show alike are one store.
    pub fn new(
        (from, from_url): (Side, String),
        (to, to_url): (Side, String),
        shown: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> Self {
        let (steps, followers) = (Steps::default(), Default::default());
        Self { from, to, urls: [from_url, to_url], shown: Box::new(shown), steps, followers }
    }

    /// Each row names the other store.
    pub(crate) fn require_partners(&self, rows: &Rows) -> Result<(), MoveError> {
        let table = [("source", &rows.own, &self.urls[1]), ("target", &rows.other, &self.urls[0])];
        for (store, row, url) in table {
            let Some(row) = row else { continue };
            let peer = (self.shown)(&row.peer);
            if peer != (self.shown)(url) {
                return Err(MoveError::OtherMove { store, peer });
            }
        }
        Ok(())
    }

    pub(crate) fn side(&self, place: Place) -> &Side {
        match place {
            Place::Own => &self.from,
            Place::Other => &self.to,
        }
    }

    /// The rows, when a store decides: what was left half done is done before.
    pub(crate) async fn settled(&mut self) -> Result<(Rows, Place), MoveError> {
        for _ in 0..MAX_LOOKS {
            let rows = Rows::read(&self.from, &self.to).await?;
            self.require_partners(&rows)?;
            match rows.decision {
                Some(Decision::Over(_)) => return Err(MoveError::Finished),
                Some(Decision::Decides(place)) if rows.of(place).is_some() => {
                    return Ok((rows, place));
                }
                // Or it has not wholly begun.
                Some(Decision::NoMove | Decision::Decides(_)) => return Err(MoveError::NoMove),
                Some(Decision::Drains(place) | Decision::Opens(place)) => {
                    let side = self.side(place).clone();
                    if !self.steps.help(&rows, &side).await? {
                        time::sleep(ROWS_POLL).await;
                    }
                }
                None => time::sleep(ROWS_POLL).await,
            }
        }
        Err(MoveError::Contradiction)
    }

    /// Copies once from the store that decides to the other one; how many animals.
    pub(crate) async fn pass(
        &mut self,
        decides: Place,
        pace: Pace,
        on_progress: OnProgress<'_>,
    ) -> Result<u64, MoveError> {
        let (from, to) = (self.side(decides).clone(), self.side(decides.opposite()).clone());
        let follower = match decides {
            Place::Own => &mut self.followers[0],
            Place::Other => &mut self.followers[1],
        };
        follower.pass((&from, &to), decides, pace, on_progress).await
    }

    /// Follows, in whichever direction, until the observer cancels it, or the move is finished. Stores that
    /// fail are tried again, for a minute and more.
    ///
    /// # Errors
    /// [`MoveError`].
    pub async fn follow(&mut self, on_progress: OnProgress<'_>) -> Result<(), MoveError> {
        let (mut failures, mut last) = (0, None);
        loop {
            let mut noting = |progress| {
                last = Some(progress);
                on_progress(progress)
            };
            match self.follow_once(&mut noting).await {
                Ok(()) => failures = 0,
                Err(MoveError::Canceled | MoveError::Finished) => return Ok(()),
                Err(error) if error.is_passing() && failures < MAX_FAILURES => {
                    tracing::debug!(%error, "the follower tries again");
                    failures += 1;
                    if last.is_some_and(|last| on_progress(last).is_break()) {
                        return Ok(());
                    }
                }
                Err(error) => return Err(error),
            }
            time::sleep(PASS_INTERVAL).await;
        }
    }

    async fn follow_once(&mut self, on_progress: OnProgress<'_>) -> Result<(), MoveError> {
        let (_, decides) = self.settled().await?;
        self.pass(decides, Pace::Gentle, on_progress).await.map(drop)
    }
}

impl fmt::Debug for Mover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mover").finish_non_exhaustive()
    }
}
