//! Values that are bound to a statement, each with its SQL type, and the columns of rows.
//!
//! A prepared statement has the types of its values. A statement that is sent together with its values needs their types.

use std::fmt;

use petstore_domain::Corruption;
use tokio_postgres::{
    Row, Statement,
    types::{FromSql, FromSqlOwned, ToSql, Type},
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
    // So each test that runs a prepared statement also checks the types of `typed`.
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

/// The columns of one row from `first` on. Errors name the row.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    row: &'a Row,
    first: usize,
    /// The kind of row, such as "animal".
    what: &'static str,
    id: i64,
}

impl<'a> Fields<'a> {
    /// Returns the columns of a row whose identifier is in the column `id`, counted from `first`.
    pub(crate) fn new(
        row: &'a Row,
        first: usize,
        what: &'static str,
        id: usize,
    ) -> Result<Self, Corruption> {
        let id = row.try_get(first + id).map_err(|error| Corruption::new(what, error))?;
        Ok(Self { row, first, what, id })
    }

    pub(crate) fn id(&self) -> i64 {
        self.id
    }

    pub(crate) fn get<T: FromSql<'a>>(&self, index: usize) -> Result<T, Corruption> {
        self.row.try_get(self.first + index).map_err(|error| self.corrupt(error))
    }

    /// Returns a value of `N` bytes.
    pub(crate) fn bytes<const N: usize>(
        &self,
        index: usize,
        rule: &str,
    ) -> Result<[u8; N], Corruption> {
        self.get::<&[u8]>(index)?.try_into().map_err(|_| self.corrupt(rule))
    }

    /// Returns the error of a row that breaks `rule`.
    pub(crate) fn corrupt(&self, rule: impl fmt::Display) -> Corruption {
        Corruption::new(format_args!("{} {}", self.what, self.id), rule)
    }
}
