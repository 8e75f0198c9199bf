//! The query of a list, its answer (one page), and the cursor of the next page (`docs/INTERFACE.md`, "Listing").

use crate::{
    catalogue::pet::{Pet, PetId, PetStatus},
    plain_integer,
};

/// The largest number of animals on a page: 1 to 100, by default 20.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageLimit(u8);

impl PageLimit {
    /// The smallest limit: one animal.
    pub const MIN: Self = Self(1);
    /// The largest limit: 100 animals.
    pub const MAX: Self = Self(100);
    /// The page size for a request without `limit`: 20 animals.
    pub const DEFAULT: Self = Self(20);

    /// Makes a limit of `animals`.
    ///
    /// # Errors
    /// If `animals` is not from 1 to 100.
    pub const fn new(animals: u8) -> Result<Self, InvalidPageLimit> {
        if animals < Self::MIN.0 || animals > Self::MAX.0 {
            return Err(InvalidPageLimit);
        }
        Ok(Self(animals))
    }

    /// Parses a plain decimal number from 1 to 100.
    ///
    /// # Errors
    /// If `text` is anything else, such as `+5`, `05` or `5.0`.
    pub fn parse(text: &str) -> Result<Self, InvalidPageLimit> {
        plain_integer::parse(text).map_or(Err(InvalidPageLimit), Self::new)
    }

    /// Returns the number of animals, 1 to 100.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl Default for PageLimit {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The text or the number is not a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a whole number from {} to {}", PageLimit::MIN.get(), PageLimit::MAX.get())]
pub struct InvalidPageLimit;

/// The query for one page of the catalogue, in ascending order of identifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PetQuery {
    /// The largest number of animals on the page.
    pub limit: PageLimit,
    /// The status of the animals; `None` for any.
    pub status: Option<PetStatus>,
    /// The identifier of the last animal of the previous page. All animals of this page have greater identifiers.
    pub after: Option<PetId>,
}

/// The answer to a [`PetQuery`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PetPage {
    /// The matching animals, at most the `limit` of the query, ascending by identifier.
    pub pets: Vec<Pet>,
    /// `true` if at least one more animal matches after the last of `pets`.
    pub more: bool,
}

/// The content of a cursor: the last animal of the previous page, and the filter of the walk, which reads a list page
/// by page. A cursor has no page size: a client may change its `limit` between pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CursorPosition {
    /// The identifier of the last animal of the previous page.
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
        let query = PetQuery { limit, status, after: Some(self.after) };
        if self.status == status { Ok(query) } else { Err(CursorMismatch) }
    }
}

/// The cursor belongs to a walk with another `status` filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("belongs to a list with another status filter: follow the link as it was given")]
pub struct CursorMismatch;

#[cfg(test)]
mod tests {
    use super::{CursorMismatch, CursorPosition, PageLimit, PetPage, PetQuery};
    use crate::{PetId, PetStatus, mocks::new_pet};

    #[test]
    fn a_limit_is_a_plain_number_from_1_to_100() {
        for number in 1..=100_u8 {
            assert_eq!(PageLimit::new(number).map(PageLimit::get), Ok(number));
            assert_eq!(PageLimit::parse(&number.to_string()), PageLimit::new(number));
        }
        for number in [0, 101, 255] {
            assert!(PageLimit::new(number).is_err(), "{number}");
        }
        for text in ["0", "101", "-1", "05", "", "256", "257"] {
            assert!(PageLimit::parse(text).is_err(), "{text:?}");
        }
        assert_eq!(PageLimit::default().get(), 20);
    }

    #[test]
    fn a_page_is_followed_by_another_exactly_when_there_are_more_animals() {
        let query = PetQuery { status: Some(PetStatus::Sold), ..PetQuery::default() };
        let pets = [3, 7].map(|id| new_pet("Rex").with_id(PetId(id))).to_vec();
        let full = PetPage { pets, more: true };
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
