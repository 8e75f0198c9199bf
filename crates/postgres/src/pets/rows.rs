//! Rows of the table `pet`.

use std::fmt;

use petstore_domain::{CategoryId, Corruption, Pet, PetId, PetName, PetStatus};
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

/// Animals from the identifier `$1` on, at most `$2`.
pub(crate) const FROM: &str =
    "SELECT id, name, category_id, status FROM pet WHERE id >= $1 ORDER BY id LIMIT $2";

/// Adds animals without keys. Returns the version with the place in the arrays and the identifier of each: what
/// `INSERT … RETURNING` promises no order of, the list that is inserted from has.
pub(crate) const INSERT: &str = concat!(
    "WITH new AS MATERIALIZED ( \
       SELECT nextval('pet_id') AS id, u.* FROM catalogue c, \
         unnest($1::text[], $2::bigint[], $3::text[]) WITH ORDINALITY AS u (name, category_id, status, place) \
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
