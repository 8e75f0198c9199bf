//! Rows of the table `pet`.

use std::fmt;

use petstore_domain::{CategoryId, Corruption, NewPet, Pet, PetId, PetName, PetStatus};
use tokio_postgres::Row;

use crate::{connection::in_writing, values::Fields, version::select_with_version};

/// One row with the version, whether or not there is such an animal.
pub(crate) const FIND: &str = select_with_version!(
    ", p.id, p.name, p.category_id, p.status \
     FROM catalogue c LEFT JOIN pet p ON p.id = $1 WHERE c.only_row = 1"
);

/// A page after the identifier `$1`, of `$2` animals. An empty one is one row with the version. The
/// status is part of the text and not a value, so that the planner knows which index serves it.
macro_rules! page {
    ($and:literal) => {
        select_with_version!(
            ", p.id, p.name, p.category_id, p.status FROM catalogue c \
             LEFT JOIN (SELECT id, name, category_id, status FROM pet WHERE id > $1",
            $and,
            " ORDER BY id LIMIT $2) p ON true WHERE c.only_row = 1 ORDER BY p.id"
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

/// Adds animals without keys. The identifier is that of `$1`, or a new one where it is null. Returns the version with
/// the place in the arrays and the identifier of each: what `INSERT … RETURNING` promises no order of, the list that
/// is inserted from has.
pub(crate) const INSERT: &str = concat!(
    "WITH new AS MATERIALIZED ( \
       SELECT coalesce(u.id, nextval('pet_id')) AS id, u.name, u.category_id, u.status, u.place \
       FROM catalogue c, unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[]) WITH ORDINALITY \
         AS u (id, name, category_id, status, place) \
       WHERE c.only_row = 1 AND ",
    in_writing!(),
    "), inserted AS ( \
       INSERT INTO pet (id, name, category_id, status) \
       SELECT id, name, category_id, status FROM new \
     ) SELECT c.version, c.changes, new.place, new.id FROM catalogue c LEFT JOIN new ON true \
     WHERE c.only_row = 1"
);

/// Adds animals, each with the record of its key if it has one that nobody else has, and none whose key somebody
/// has. Returns the same of those that were added; one row without place and identifier if none was.
///
/// Renews the version if there are any. Also where nothing is added the row is written again: it is refused if the
/// store is not open, and the commit waits until all that it has read is durable, on a standby too.
pub(crate) const ADD: &str = concat!(
    "WITH wanted AS MATERIALIZED ( \
       SELECT nextval('pet_id') AS id, u.* FROM catalogue c, unnest($1::text[], $2::bigint[], $3::text[], \
         $4::bytea[], $5::bytea[], $6::bigint[]) WITH ORDINALITY \
         AS u (name, category_id, status, key, fingerprint, created_at, place) \
       WHERE c.only_row = 1 AND ",
    in_writing!(),
    "), reserved AS ( \
       INSERT INTO idempotency (id, fingerprint, pet_id, created_at) \
       SELECT key, fingerprint, id, created_at FROM wanted WHERE key IS NOT NULL \
       ON CONFLICT (id) DO NOTHING RETURNING pet_id \
     ), new AS MATERIALIZED ( \
       SELECT * FROM wanted WHERE key IS NULL OR id IN (SELECT pet_id FROM reserved) \
     ), inserted AS ( \
       INSERT INTO pet (id, name, category_id, status) SELECT id, name, category_id, status FROM new \
     ), renewed AS ( \
       UPDATE catalogue SET version = CASE WHEN EXISTS (SELECT FROM new) THEN $7::bytea ELSE version END, \
         changes = changes + EXISTS (SELECT FROM new)::integer WHERE only_row = 1 RETURNING version, changes \
     ) SELECT renewed.version, renewed.changes, new.place, new.id FROM renewed LEFT JOIN new ON true"
);

/// Reads the animals of rows that begin with the version. A row without an identifier holds none.
pub(crate) fn pets(rows: &[Row]) -> Result<Vec<Pet>, Corruption> {
    let animals = rows.iter().filter(|row| !matches!(row.try_get::<_, Option<i64>>(2), Ok(None)));
    animals.map(|row| pet(row, 2)).collect()
}

/// Reads the animal of the four columns from `first` on.
pub(crate) fn pet(row: &Row, first: usize) -> Result<Pet, Corruption> {
    let fields = Fields::new(row, first, "animal", 0)?;
    let corrupt =
        |field: &str, rule: &dyn fmt::Display| fields.corrupt(format_args!("its {field} {rule}"));
    let (name, status) = (fields.get::<String>(1)?, fields.get::<Option<&str>>(3)?);
    let status = status.map(PetStatus::parse).transpose();
    Ok(Pet {
        id: PetId(fields.id()),
        name: PetName::parse(name).map_err(|rule| corrupt("name", &rule))?,
        category_id: CategoryId(fields.get(2)?),
        status: status.map_err(|rule| corrupt("status", &rule))?,
    })
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
    /// Returns the columns of animals that have their identifiers.
    pub(crate) fn from_pets(pets: &'a [Pet]) -> Self {
        let mut columns = Self::default();
        for Pet { id, name, category_id, status } in pets {
            columns.push_fields(Some(*id), name, *category_id, *status);
        }
        columns
    }

    /// Adds an animal that shall have the identifier `id`, or a new one.
    pub(crate) fn push(&mut self, id: Option<PetId>, pet: &'a NewPet) {
        let NewPet { name, category_id, status } = pet;
        self.push_fields(id, name, *category_id, *status);
    }

    fn push_fields(
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
}
