//! What a move says of itself.

use petstore_domain::Differences;

use crate::{
    decision::{Decision, Place},
    error::MoveError,
    mover::Mover,
    steps::Rows,
};

/// Where a move stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// No move has begun.
    None,
    /// One store decides, and the other one is behind it.
    Following,
    /// Writes wait, as the other store is about to decide.
    Draining,
    /// It is decided that the other store decides.
    Opening,
    /// The other store decides for good.
    Finished,
}

impl Step {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Following => "following",
            Self::Draining => "draining",
            Self::Opening => "opening",
            Self::Finished => "finished",
        }
    }
}

/// Where a move stands, and how far it has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoveStatus {
    /// The step.
    pub step: Step,
    /// The store that decides.
    pub decides: Place,
    /// The highest identifier of an animal in the source; 0 if there is none.
    pub from_highest: i64,
    /// The same in the target.
    pub to_highest: i64,
    /// What shadow reads have found.
    pub differences: Differences,
}

impl MoveStatus {
    /// How many identifiers the standby is behind.
    #[must_use]
    pub fn lag(&self) -> i64 {
        let ahead = self.from_highest - self.to_highest;
        match self.decides {
            Place::Own => ahead.max(0),
            Place::Other => (-ahead).max(0),
        }
    }
}

impl Mover {
    /// Where the move stands. Changes nothing.
    ///
    /// # Errors
    /// [`MoveError`].
    pub async fn status(&self) -> Result<MoveStatus, MoveError> {
        let rows = Rows::read(&self.from, &self.to).await?;
        let (step, decides) = match rows.decision.ok_or(MoveError::Contradiction)? {
            Decision::NoMove => (Step::None, Place::Own),
            Decision::Decides(place) => (Step::Following, place),
            Decision::Drains(place) => (Step::Draining, place),
            Decision::Opens(place) => (Step::Opening, place),
            Decision::Over(place) => (Step::Finished, place),
        };
        let mut differences = Differences::default();
        for row in [&rows.own, &rows.other].into_iter().flatten() {
            differences.count += row.differences.count;
            differences.last = differences.last.or(row.differences.last.clone());
        }
        let highest = async |place| -> Result<i64, MoveError> {
            let horizon = self.side(place).relocation.horizon().await?;
            Ok(horizon.map_or(0, |id| id.0))
        };
        let (from_highest, to_highest) = (highest(Place::Own).await?, highest(Place::Other).await?);
        Ok(MoveStatus { step, decides, from_highest, to_highest, differences })
    }
}
