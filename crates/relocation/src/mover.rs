//! The use case of moving a store: beginning, following, and ending.

use std::{fmt, time::Duration};

use petstore_domain::{PetPage, PetQuery, Relocation, Role};
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
type ShowUrl = Box<dyn Fn(&str) -> String + Send + Sync>;

/// Moves the store `from` to the store `to`.
pub struct Mover {
    pub(crate) from: Side,
    pub(crate) to: Side,
    /// By these a service opens them.
    urls: [String; 2],
    shown: ShowUrl,
    steps: Steps,
    pub(crate) followers: [Follower; 2],
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

    /// Begins the move, unless it has begun already.
    ///
    /// # Errors
    /// [`MoveError`].
    pub async fn begin(&mut self) -> Result<(), MoveError> {
        let rows = Rows::read(&self.from, &self.to).await?;
        self.require_partners(&rows)?;
        match (&rows.own, &rows.other) {
            (Some(_), Some(_)) => return Ok(()),
            (None, None) => {
                self.require_empty_target().await?;
                let row = Relocation::new(Role::Standby, 0, &self.urls[0]);
                self.to.relocation.begin(row).await?;
                if let Err(error) = self.require_empty_target().await {
                    self.to.relocation.end(0).await?;
                    return Err(error);
                }
            }
            // It was cut off here.
            (None, Some(row)) if row.role == Role::Standby => {}
            (Some(row), None) if row.role == Role::Moved => return Err(MoveError::Finished),
            (None, Some(_)) | (Some(_), None) => return Err(MoveError::Contradiction),
        }
        let row = Relocation::new(Role::Deciding, rows.next_revision(), &self.urls[1]);
        self.from.relocation.begin(row).await?;
        Ok(())
    }

    async fn require_empty_target(&self) -> Result<(), MoveError> {
        let PetPage { pets, .. } = self.to.pets.list(PetQuery::default()).await?.value;
        let is_empty = pets.is_empty() && self.to.keys.list().await?.is_empty();
        if is_empty { Ok(()) } else { Err(MoveError::NotEmpty) }
    }

    /// Each row names the other store.
    fn require_partners(&self, rows: &Rows) -> Result<(), MoveError> {
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
                Err(error) if is_passing(&error) && failures < MAX_FAILURES => {
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

    /// Ends the move: the store that decides goes on as an ordinary one, and the other one takes no more
    /// writes. Which one decides.
    ///
    /// # Errors
    /// [`MoveError`].
    pub async fn finish(&mut self) -> Result<Place, MoveError> {
        let place = match self.settled().await {
            Ok((rows, place)) => {
                let other = place.opposite();
                let row = rows.of(other).ok_or(MoveError::Contradiction)?;
                let peer = (self.shown)(&row.peer);
                let moved = Relocation { peer, ..row.with_role(Role::Moved) };
                if !self.side(other).relocation.change(row.revision, moved).await? {
                    return Err(MoveError::Interrupted);
                }
                place
            }
            Err(MoveError::Finished) => self.finished().await?,
            Err(error) => return Err(error),
        };
        let relocation = &self.side(place).relocation;
        if let Some(row) = relocation.relocation().await? {
            relocation.end(row.revision).await?;
        }
        Ok(place)
    }

    /// The store that decides for good.
    async fn finished(&self) -> Result<Place, MoveError> {
        match Rows::read(&self.from, &self.to).await?.decision {
            Some(Decision::Over(place)) => Ok(place),
            _ => Err(MoveError::Contradiction),
        }
    }
}

/// Whether the same may go well in a moment.
pub(crate) fn is_passing(error: &MoveError) -> bool {
    use petstore_domain::{RestoreError, StoreError};
    matches!(
        error,
        MoveError::Store(StoreError::Unavailable(_) | StoreError::Fenced(_))
            | MoveError::Apply(RestoreError::Store(
                StoreError::Unavailable(_) | StoreError::Fenced(_)
            ))
            | MoveError::Contradiction
            | MoveError::Interrupted
    )
}

impl fmt::Debug for Mover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mover").finish_non_exhaustive()
    }
}
