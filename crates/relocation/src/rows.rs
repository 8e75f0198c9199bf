//! The rows of both stores.

use petstore_domain::{Relocation, StoreError};

use crate::{
    decision::{Decision, Place},
    side::Side,
};

/// The rows of both stores, and what they say.
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
