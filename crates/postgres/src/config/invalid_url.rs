//! Why a URL is refused.

/// The text is not the URL of a PostgreSQL store. One line says what would be right; none repeats any of the
/// text, as each part of it may be a password.
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
    #[error("a port is not a number from 1 to 65535")]
    Port,
    /// A `%` without two hexadecimal digits, bytes that are not UTF-8, or a character that must be encoded.
    #[error(
        "the {0} is not properly percent-encoded; write % as %25, & as %26, / as %2F, : as %3A, \
         ; as %3B, = as %3D, ? as %3F, @ as %40"
    )]
    Encoding(&'static str),
    /// Not `NAME=VALUE` with a known name; these exist.
    #[error("parameter {position} behind the ? is none of {}; user and password are written in front of the host", known.join(", "))]
    UnknownParameter {
        /// Of the parameter, from 1 on.
        position: usize,
        /// The parameters that exist.
        known: &'static [&'static str],
    },
    /// A parameter that is given twice.
    #[error("{0} is given twice; give it once")]
    RepeatedParameter(&'static str),
    /// A parameter with a value that it cannot have.
    #[error("the value of {name} is not allowed: {allowed}")]
    Value {
        /// Of the parameter.
        name: &'static str,
        /// What would be right.
        allowed: &'static str,
    },
}
