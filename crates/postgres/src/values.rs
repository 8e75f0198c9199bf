//! Values that are bound to a statement, each with its SQL type, and the columns of rows.
//!
//! The server knows the types of the values of a prepared statement. A statement that is sent together with its values
//! must also send their types.

use std::error::Error as StdError;

use petstore_domain::Corruption;
use petstore_storage::error_chain;
use tokio_postgres::{
    Error, Row, Statement,
    types::{FromSql, FromSqlOwned, ToSql, Type, accepts},
};

use crate::error::StoreFailure;

/// A value with its SQL type.
pub(crate) trait Value: ToSql + Sync {
    /// Returns the type.
    fn sql_type(&self) -> Type;
}

/// Values that are bound to a statement.
pub(crate) type Values<'a> = &'a [&'a dyn Value];

impl<T: ToSql + Sync> Value for T {
    fn sql_type(&self) -> Type {
        let ours = [Type::INT8, Type::TEXT, Type::BYTEA];
        let arrays = [Type::INT8_ARRAY, Type::TEXT_ARRAY, Type::BYTEA_ARRAY];
        ours.into_iter().chain(arrays).find(T::accepts).unwrap_or(Type::UNKNOWN)
    }
}

/// Returns the values for a prepared statement.
pub(crate) fn untyped<'a>(
    statement: &Statement,
    values: Values<'a>,
) -> Vec<&'a (dyn ToSql + Sync)> {
    // Each test that runs a prepared statement thereby also checks the types that `typed` would send.
    debug_assert!(
        values.iter().map(|value| value.sql_type()).eq(statement.params().iter().cloned()),
        "{statement:?}"
    );
    values.iter().map(|value| *value as &(dyn ToSql + Sync)).collect()
}

/// Returns the values for a statement that is sent together with them.
pub(crate) fn typed(values: Values<'_>) -> Vec<(&(dyn ToSql + Sync), Type)> {
    values.iter().map(|value| (*value as &(dyn ToSql + Sync), value.sql_type())).collect()
}

/// Returns the first column of every row.
pub(crate) fn column<T: FromSqlOwned>(rows: &[Row]) -> Result<Vec<T>, StoreFailure> {
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Returns the first column of the first row, or the default if there is no row.
pub(crate) fn scalar<T: FromSqlOwned + Default>(rows: &[Row]) -> Result<T, StoreFailure> {
    rows.first().map_or_else(|| Ok(T::default()), |row| Ok(row.try_get(0)?))
}

/// Reads a row. An error names the row: its kind `what`, and the identifier in `id_column`.
pub(crate) fn named<T>(
    row: &Row,
    what: &str,
    id_column: usize,
    read: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Corruption> {
    read().map_err(|error| {
        let error = error_chain(&error);
        match row.try_get::<_, i64>(id_column) {
            Ok(id) => Corruption::new(format_args!("{what} {id}"), error),
            Err(_) => Corruption::new(what, error),
        }
    })
}

/// Exactly `N` bytes of a column.
pub(crate) struct Bytes<const N: usize>(pub(crate) [u8; N]);

impl<'a, const N: usize> FromSql<'a> for Bytes<N> {
    accepts!(BYTEA);

    fn from_sql(_: &Type, bytes: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        let exact =
            bytes.try_into().map_err(|_| format!("{} bytes instead of {N}", bytes.len()))?;
        Ok(Self(exact))
    }
}
