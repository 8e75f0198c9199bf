//! Rows of the table `pet`.

use petstore_domain::{CategoryId, Corruption, NewPet, Pet, PetId, PetName, PetStatus};
use tokio_postgres::{Row, types::FromSql};

use crate::{error::corruption, version::select_with_mark};

/// One row with the mark, whether or not there is such an animal.
pub(crate) const FIND: &str = select_with_mark!(
    ", p.id, p.name, p.category_id, p.status \
     FROM catalogue c LEFT JOIN pet p ON p.id = $1 WHERE c.only_row = 1"
);

/// A page after the identifier `$1`, of `$2` animals. An empty one is one row with the mark. The
/// status stands in the text and not in a value, so that the planner knows which index serves it.
macro_rules! page {
    ($and:literal) => {
        select_with_mark!(
            ", p.id, p.name, p.category_id, p.status FROM catalogue c \
             LEFT JOIN (SELECT id, name, category_id, status FROM pet WHERE id > $1",
            $and,
            " ORDER BY id LIMIT $2) p ON true WHERE c.only_row = 1 ORDER BY p.id"
        )
    };
}

/// The identifier is `$1`, or a new one where that is null.
pub(crate) const INSERT: &str = "INSERT INTO pet (id, name, category_id, status) \
     SELECT coalesce(u.id, nextval('pet_id')), u.name, u.category_id, u.status \
     FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[]) \
       AS u (id, name, category_id, status) \
     RETURNING id, name, category_id, status";

pub(crate) const fn page(status: Option<PetStatus>) -> &'static str {
    match status {
        None => page!(""),
        Some(PetStatus::Available) => page!(" AND status = 'available'"),
        Some(PetStatus::Pending) => page!(" AND status = 'pending'"),
        Some(PetStatus::Sold) => page!(" AND status = 'sold'"),
    }
}

/// The animals of rows that begin with the mark. A row without an identifier holds none.
pub(crate) fn pets(rows: &[Row]) -> Result<Vec<Pet>, Corruption> {
    let animals = rows.iter().filter(|row| !matches!(row.try_get::<_, Option<i64>>(2), Ok(None)));
    animals.map(|row| pet(row, 2)).collect()
}

/// The animal of the four columns from `first` on, through the doors of the domain.
pub(crate) fn pet(row: &Row, first: usize) -> Result<Pet, Corruption> {
    let id = row.try_get(first).map(PetId).map_err(|error| corruption("an animal", error))?;
    let name: String = column(row, id, "name", first + 1)?;
    let status: Option<&str> = column(row, id, "status", first + 3)?;
    Ok(Pet {
        id,
        name: PetName::parse(name).map_err(|rule| broken(id, "name", &rule))?,
        category_id: CategoryId(column(row, id, "category", first + 2)?),
        status: status
            .map(PetStatus::parse)
            .transpose()
            .map_err(|rule| broken(id, "status", &rule))?,
    })
}

fn column<'a, T: FromSql<'a>>(
    row: &'a Row,
    id: PetId,
    field: &str,
    index: usize,
) -> Result<T, Corruption> {
    row.try_get(index).map_err(|error| broken(id, field, &error))
}

fn broken(id: PetId, field: &str, rule: &dyn std::fmt::Display) -> Corruption {
    corruption(format!("animal {}", id.0), format!("its {field} {rule}"))
}

/// Animals as the arrays that [`INSERT`] takes.
#[derive(Debug, Default)]
pub(crate) struct Columns<'a> {
    pub(crate) ids: Vec<Option<i64>>,
    pub(crate) names: Vec<&'a str>,
    pub(crate) categories: Vec<i64>,
    pub(crate) statuses: Vec<Option<&'static str>>,
}

impl<'a> Columns<'a> {
    /// Adds one that shall have the identifier `id`, or a new one.
    pub(crate) fn push(&mut self, id: Option<PetId>, pet: &'a NewPet) {
        self.add(id, &pet.name, pet.category_id, pet.status);
    }

    pub(crate) fn add(
        &mut self,
        id: Option<PetId>,
        name: &'a PetName,
        category: CategoryId,
        status: Option<PetStatus>,
    ) {
        self.ids.push(id.map(|id| id.0));
        self.names.push(name.as_str());
        self.categories.push(category.0);
        self.statuses.push(status.map(PetStatus::as_str));
    }

    /// Those that were given so far.
    pub(crate) fn of(pets: &'a [Pet]) -> Self {
        let mut columns = Self::default();
        for Pet { id, name, category_id, status } in pets {
            columns.add(Some(*id), name, *category_id, *status);
        }
        columns
    }
}
