//! Rows of the table `pet`.

use petstore_domain::{Corruption, Pet, PetStatus};
use tokio_postgres::Row;

use crate::{
    values::Fields,
    version::{select_with_version, state},
};

/// Selects the version and an animal. There is one row even without such an animal.
pub(crate) const FIND: &str = select_with_version!(
    ", p.id, p.name, p.category_id, p.status FROM ",
    state!(),
    " c LEFT JOIN pet p ON p.id = $1"
);

/// Selects the version and up to `$2` animals behind the identifier `$1`. An empty page is one row with the version. The
/// status is part of the text, not a value, so that the planner can choose its index.
macro_rules! page {
    ($and:literal) => {
        select_with_version!(
            ", p.id, p.name, p.category_id, p.status FROM ",
            state!(),
            " c LEFT JOIN (SELECT id, name, category_id, status FROM pet WHERE id > $1",
            $and,
            " ORDER BY id LIMIT $2) p ON true ORDER BY p.id"
        )
    };
}

pub(crate) const fn page(status: Option<PetStatus>) -> &'static str {
    match status {
        None => page!(""),
        Some(PetStatus::Available) => page!(" AND status = 'available'"),
        Some(PetStatus::Pending) => page!(" AND status = 'pending'"),
        Some(PetStatus::Sold) => page!(" AND status = 'sold'"),
    }
}

/// Selects up to `$2` animals from the identifier `$1` on.
pub(crate) const FROM: &str =
    "SELECT id, name, category_id, status FROM pet WHERE id >= $1 ORDER BY id LIMIT $2";

/// Reads the animals of rows that begin with the version. A row without an identifier has no animal.
pub(crate) fn pets(rows: &[Row]) -> Result<Vec<Pet>, Corruption> {
    let animals = rows.iter().filter(|row| !matches!(row.try_get::<_, Option<i64>>(2), Ok(None)));
    animals.map(|row| pet(row, 2)).collect()
}

/// Reads the animal in the four columns from `first` on.
pub(crate) fn pet(row: &Row, first: usize) -> Result<Pet, Corruption> {
    let fields = Fields::new(row, first, "animal", 0)?;
    Pet::from_stored(fields.id(), fields.get::<String>(1)?, fields.get(2)?, fields.get(3)?)
}
