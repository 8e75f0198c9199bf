//! Rows of the table `pet`.

use petstore_domain::{Corruption, Pet, PetStatus};
use tokio_postgres::Row;

use crate::{
    values::Fields,
    version::{select_with_version, state, where_state},
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

/// Renews the version if there are rows in `new`. Returns the version with each of these rows, or once without a row.
///
/// The row of the state is updated even if nothing is added. So the statement fails if the store is not open, and the
/// commit waits until everything that was read is durable, on a standby too. If not all rows of `new` were `$stored`, the
/// version becomes NULL, which the table refuses.
macro_rules! renewed {
    ($stored:literal, $columns:literal) => {
        concat!(
            "), renewed AS ( \
               UPDATE petstore_state SET changes = changes + 1, version = \
                 CASE (SELECT count(id) FROM new) WHEN 0 THEN version WHEN ",
            $stored,
            " THEN $7::bytea END",
            where_state!(),
            "RETURNING version, changes \
             ) SELECT renewed.version, renewed.changes, new.place, new.id",
            $columns,
            " FROM renewed LEFT JOIN new ON true"
        )
    };
}

/// Adds animals with their idempotency records, except animals whose idempotency key has a record already. Returns the
/// version with the place in the arrays and the identifier of each added animal. Place and identifier come from `wanted`,
/// because `INSERT … RETURNING` promises no order. A store that is not open draws no identifiers, because a rollback would
/// not return them: the highest identifier must not change after it was copied.
pub(crate) const ADD: &str = concat!(
    "WITH wanted AS MATERIALIZED ( \
       SELECT nextval('pet_id') AS id, u.* FROM ",
    state!(),
    " c, unnest($1::text[], $2::bigint[], $3::text[], $4::bytea[], $5::bytea[], $6::bigint[]) WITH ORDINALITY \
         AS u (name, category_id, status, key, fingerprint, created_at, place) \
       WHERE c.state = 'open' AND petstore_may_add() \
     ), reserved AS ( \
       INSERT INTO idempotency (id, fingerprint, pet_id, created_at) \
       SELECT key, fingerprint, id, created_at FROM wanted WHERE key IS NOT NULL \
       ON CONFLICT (id) DO NOTHING RETURNING pet_id \
     ), new AS MATERIALIZED ( \
       SELECT * FROM wanted WHERE key IS NULL OR id IN (SELECT pet_id FROM reserved) \
     ), inserted AS ( \
       INSERT INTO pet (id, name, category_id, status) SELECT id, name, category_id, status FROM new RETURNING id ",
    renewed!("(SELECT count(*) FROM inserted)", "")
);

/// Adds animals like [`ADD`], under savepoints, so that a refusal affects one animal. Returns every place with an
/// identifier, with the server's refusal, or with neither if its idempotency key has a record already.
pub(crate) const ADD_EACH: &str = concat!(
    "WITH new AS MATERIALIZED ( \
       SELECT e.nth AS place, e.new_id AS id, e.refusal, e.code, e.is_own FROM ",
    state!(),
    " c, petstore_add_each(c.state, $1::text[], $2::bigint[], $3::text[], $4::bytea[], $5::bytea[], $6::bigint[]) e",
    renewed!("(SELECT count(id) FROM new)", ", new.refusal, new.code, new.is_own")
);

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
