//! Beginning a move.

use petstore_domain::{PetPage, PetQuery, Relocation, Role, load_keys};

use crate::{error::MoveError, mover::Mover, steps::Rows};

impl Mover {
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
            (None, Some(row)) if row.role == Role::Moved => return Err(MoveError::GivenUp),
            (None, Some(_)) | (Some(_), None) => return Err(MoveError::Contradiction),
        }
        let row = Relocation::new(Role::Deciding, rows.next_revision(), &self.urls[1]);
        self.from.relocation.begin(row).await?;
        Ok(())
    }

    async fn require_empty_target(&self) -> Result<(), MoveError> {
        let PetPage { pets, .. } = self.to.pets.list(PetQuery::default()).await?.value;
        let is_empty = pets.is_empty() && load_keys(&*self.to.keys).await?.is_empty();
        if is_empty { Ok(()) } else { Err(MoveError::NotEmpty) }
    }
}
