//! Values that are bound to a statement, each with its type.
//!
//! A statement that the server has prepared says itself which types it takes. One that is sent together
//! with its values cannot be asked first.

use tokio_postgres::{
    Statement,
    types::{ToSql, Type},
};

/// A value with the type that it has in SQL.
pub(crate) trait Value: ToSql + Sync {
    /// The type.
    fn sql_type(&self) -> Type;

    /// The value as the driver takes it.
    fn as_sql(&self) -> &(dyn ToSql + Sync);
}

/// What is bound to a statement.
pub(crate) type Values<'a> = &'a [&'a dyn Value];

/// A type whose values can be bound alone or in an array.
pub(crate) trait Element {
    const TYPE: Type;
    const ARRAY: Type;
}

impl Element for i64 {
    const TYPE: Type = Type::INT8;
    const ARRAY: Type = Type::INT8_ARRAY;
}

impl Element for &str {
    const TYPE: Type = Type::TEXT;
    const ARRAY: Type = Type::TEXT_ARRAY;
}

impl Element for String {
    const TYPE: Type = Type::TEXT;
    const ARRAY: Type = Type::TEXT_ARRAY;
}

impl Element for &[u8] {
    const TYPE: Type = Type::BYTEA;
    const ARRAY: Type = Type::BYTEA_ARRAY;
}

impl<T: Element> Element for Option<T> {
    const TYPE: Type = T::TYPE;
    const ARRAY: Type = T::ARRAY;
}

impl<T: Element + ToSql + Sync> Value for T {
    fn sql_type(&self) -> Type {
        T::TYPE
    }

    fn as_sql(&self) -> &(dyn ToSql + Sync) {
        self
    }
}

impl<T: Element + ToSql + Sync> Value for Vec<T> {
    fn sql_type(&self) -> Type {
        T::ARRAY
    }

    fn as_sql(&self) -> &(dyn ToSql + Sync) {
        self
    }
}

/// The values for a statement that knows its types.
pub(crate) fn untyped<'a>(
    statement: &Statement,
    values: Values<'a>,
) -> Vec<&'a (dyn ToSql + Sync)> {
    // So each test that runs a statement shows that it is sent with the right types elsewhere.
    debug_assert!(
        values.iter().map(|value| value.sql_type()).eq(statement.params().iter().cloned()),
        "{statement:?}"
    );
    values.iter().map(|value| value.as_sql()).collect()
}

/// The values for a statement that is sent together with them.
pub(crate) fn typed(values: Values<'_>) -> Vec<(&(dyn ToSql + Sync), Type)> {
    values.iter().map(|value| (value.as_sql(), value.sql_type())).collect()
}
