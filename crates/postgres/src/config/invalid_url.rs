//! Why a URL is refused.

/// The text is not the URL of a PostgreSQL store. One line says what would be right; none repeats
/// what may be a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUrl {
    /// Not of this form at all.
    #[error("write postgres://USER:PASSWORD@HOST[:PORT][,HOST…]/DATABASE")]
    Form,
    /// Nothing in front of an `@`.
    #[error("no user is named; write postgres://USER:PASSWORD@HOST/DATABASE")]
    NoUser,
    /// An empty host.
    #[error("a host is missing; write postgres://USER:PASSWORD@HOST/DATABASE")]
    NoHost,
    /// No path.
    #[error("no database is named; write postgres://USER:PASSWORD@HOST/DATABASE")]
    NoDatabase,
    /// Not a number from 1 to 65535.
    #[error("the port of the host '{0}' is not a number from 1 to 65535")]
    Port(String),
    /// A `%` without two hexadecimal digits, or bytes that are not UTF-8.
    #[error("the {0} is not properly percent-encoded; write % as %25, @ as %40, / as %2F")]
    Encoding(&'static str),
    /// A parameter that does not exist.
    #[error("there is no parameter '{name}'; there are {}", known.join(", "))]
    UnknownParameter {
        /// As it was given.
        name: String,
        /// The parameters that exist.
        known: &'static [&'static str],
    },
    /// A parameter that is given twice.
    #[error("{0} is given twice; give it once")]
    RepeatedParameter(&'static str),
    /// A parameter with a value that it cannot have.
    #[error("{name} cannot be '{value}'; {allowed}")]
    Value {
        /// Of the parameter.
        name: &'static str,
        /// As it was given.
        value: String,
        /// What would be right.
        allowed: &'static str,
    },
}

impl InvalidUrl {
    /// Whether the message repeats a part of the URL.
    pub(super) fn repeats_input(&self) -> bool {
        matches!(self, Self::Port(_) | Self::UnknownParameter { .. } | Self::Value { .. })
    }
}
