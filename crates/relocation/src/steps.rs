//! The steps of a flip that any party may do, when the one that began it was killed.

use std::time::Duration;

use petstore_domain::{Relocation, Role, StoreError};
use tokio::time::Instant;

use crate::{
    decision::{Decision, Place},
    side::Side,
};

/// A store that drains for longer is put back by whoever sees it. More than a mover takes to put it back
/// itself.
const UNDO_AFTER: Duration = Duration::from_millis(1500);

/// What both rows say, and the rows.
pub(crate) struct Rows {
    pub(crate) own: Option<Relocation>,
    pub(crate) other: Option<Relocation>,
    /// `None` if they contradict each other.
    pub(crate) decision: Option<Decision>,
}

impl Rows {
    pub(crate) async fn read(own: &Side, other: &Side) -> Result<Self, StoreError> {
        let own = own.relocation.relocation().await?;
        let other = other.relocation.relocation().await?;
        let decision = Decision::new(own.as_ref(), other.as_ref());
        Ok(Self { own, other, decision })
    }

    pub(crate) fn of(&self, place: Place) -> Option<&Relocation> {
        match place {
            Place::Own => self.own.as_ref(),
            Place::Other => self.other.as_ref(),
        }
    }

    /// A revision above both.
    pub(crate) fn next_revision(&self) -> i64 {
        let revisions = [&self.own, &self.other].map(|row| row.as_ref().map(|row| row.revision));
        revisions.into_iter().flatten().max().unwrap_or_default() + 1
    }
}

/// Looks after moves that were left half done.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// The revision that was first seen to drain, and when.
    draining: Option<(i64, Instant)>,
}

impl Steps {
    /// Does what is left of a flip, if something is; whether it has changed a row. `side` is the store at
    /// the place of the decision.
    pub(crate) async fn help(&mut self, rows: &Rows, side: &Side) -> Result<bool, StoreError> {
        match rows.decision {
            Some(Decision::Opens(place)) => {
                let Some(row) = rows.of(place) else { return Ok(false) };
                let revision = rows.next_revision();
                let opened = Relocation { role: Role::Deciding, revision, ..row.clone() };
                side.relocation.change(row.revision, opened).await
            }
            Some(Decision::Drains(place)) => {
                let Some(row) = rows.of(place) else { return Ok(false) };
                if !self.has_drained_long(row.revision) {
                    return Ok(false);
                }
                side.relocation.change(row.revision, row.with_role(Role::Deciding)).await
            }
            Some(Decision::NoMove | Decision::Decides(_) | Decision::Over(_)) | None => Ok(false),
        }
    }

    fn has_drained_long(&mut self, revision: i64) -> bool {
        match self.draining {
            Some((seen, since)) if seen == revision => since.elapsed() >= UNDO_AFTER,
            _ => {
                self.draining = Some((revision, Instant::now()));
                false
            }
        }
    }
}

#[cfg(test)]
mod tests;
