//! Where a walk through the catalogue stands.

use crate::{PageLimit, PetId, PetQuery, PetStatus};

/// What a cursor carries: the last animal of the page before, and the filter of the walk.
///
/// The page size is not part of it: a client may change its `limit` between pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CursorPosition {
    /// The page before ended with this animal.
    pub after: PetId,
    /// The status filter of the walk.
    pub status: Option<PetStatus>,
}

impl CursorPosition {
    /// The query for the page behind this position.
    ///
    /// # Errors
    /// `status` is not the filter that the walk began with: the page would belong to neither walk.
    pub fn resume(
        self,
        limit: PageLimit,
        status: Option<PetStatus>,
    ) -> Result<PetQuery, CursorMismatch> {
        if self.status == status {
            Ok(PetQuery { limit, status, after: Some(self.after) })
        } else {
            Err(CursorMismatch)
        }
    }
}

/// The cursor was made for another `status` than it is used with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("belongs to a list with another status filter: follow the link as it was given")]
pub struct CursorMismatch;

#[cfg(test)]
mod tests {
    use super::{CursorMismatch, CursorPosition};
    use crate::{PageLimit, PetId, PetQuery, PetStatus};

    #[test]
    fn a_walk_goes_on_only_with_the_filter_it_began_with() {
        let filters =
            [None, Some(PetStatus::Available), Some(PetStatus::Pending), Some(PetStatus::Sold)];
        for began in filters {
            for used in filters {
                let position = CursorPosition { after: PetId(7), status: began };
                let expected = if began == used {
                    Ok(PetQuery { limit: PageLimit::MAX, status: used, after: Some(PetId(7)) })
                } else {
                    Err(CursorMismatch)
                };
                assert_eq!(position.resume(PageLimit::MAX, used), expected);
            }
        }
    }
}
