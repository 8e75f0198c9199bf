//! Ending a move.

use petstore_domain::{Relocation, Role};

use crate::{
    decision::{Decision, Place},
    error::MoveError,
    mover::Mover,
    steps::Rows,
};

impl Mover {
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
