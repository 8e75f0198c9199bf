//! The keyset cursor of a walk through the catalogue.

use crate::catalogue::{
    page::{PageLimit, PetPage, PetQuery},
    pet::PetId,
    status::PetStatus,
};

/// The content of a cursor: the last animal of the previous page, and the filter of the walk. A cursor has no page
/// size: a client may change its `limit` between pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CursorPosition {
    /// The last animal of the previous page.
    pub after: PetId,
    /// The status filter of the walk.
    pub status: Option<PetStatus>,
}

impl CursorPosition {
    /// Returns the position after `page`, the answer to `query`; `None` if `page` is the last.
    #[must_use]
    pub fn following(page: &PetPage, query: &PetQuery) -> Option<Self> {
        let last = page.pets.last().filter(|_| page.more)?;
        Some(Self { after: last.id, status: query.status })
    }

    /// Returns the query for the page after this position.
    ///
    /// # Errors
    /// If `status` is not the filter of the walk.
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

/// The cursor belongs to a walk with another `status` filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("belongs to a list with another status filter: follow the link as it was given")]
pub struct CursorMismatch;

#[cfg(test)]
mod tests {
    use super::{CursorMismatch, CursorPosition};
    use crate::{CategoryId, NewPet, PageLimit, PetId, PetName, PetPage, PetQuery, PetStatus};

    #[test]
    fn a_page_is_followed_by_another_exactly_when_there_are_more_animals() {
        let name = PetName::parse("Rex").unwrap();
        let rex = NewPet { name, category_id: CategoryId(1), status: None }.with_id(PetId(7));
        let query = PetQuery { status: Some(PetStatus::Sold), ..PetQuery::default() };
        let full = PetPage { pets: vec![rex], more: true };
        let next = CursorPosition { after: PetId(7), status: Some(PetStatus::Sold) };
        assert_eq!(CursorPosition::following(&full, &query), Some(next));
        let last = PetPage { more: false, ..full };
        assert_eq!(CursorPosition::following(&last, &query), None);
        assert_eq!(CursorPosition::following(&PetPage::default(), &query), None);
    }

    #[test]
    fn a_walk_continues_only_with_its_own_filter() {
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
