//! Flips that were left half done, because the mover that began them was killed: any party completes or undoes
//! them.

use std::time::{Duration, Instant};

use petstore_domain::{Relocation, Role, StoreError};

use crate::{decision::Decision, rows::Rows, side::Side};

/// A store that drains for longer is put back by whoever sees it. More than a mover takes to put it back
/// itself.
const UNDO_AFTER: Duration = Duration::from_millis(1500);

/// What one party remembers of a flip that it does not drive.
#[derive(Debug, Default)]
pub(crate) struct Recovery {
    /// The revision that was first seen to drain, and when.
    draining: Option<(i64, Instant)>,
}

impl Recovery {
    /// Completes or undoes a flip that was left half done; whether it has changed a row. `side` is the store at
    /// the place of the decision.
    pub(crate) async fn recover(&mut self, rows: &Rows, side: &Side) -> Result<bool, StoreError> {
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
