//! Where a catalogue is: `sqlite:PATH`, `sqlite:PATH?synchronous=full`, `postgres://…`, `memory:`.

use std::{fmt, path::PathBuf};

use petstore_postgres::{InvalidUrl, PostgresConfig};
use petstore_sqlite::Synchronous;

/// Names a store. Nothing in the path of a file is percent-encoded, and it cannot hold a `?`. Neither
/// `Debug` nor `Display` shows a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreUrl {
    /// A SQLite file.
    Sqlite {
        /// Relative to the working directory unless it begins with a slash.
        path: PathBuf,
        /// How much of the hardware's word is waited for.
        synchronous: Synchronous,
    },
    /// A database of PostgreSQL.
    Postgres(Box<PostgresConfig>),
    /// A store that ends with the process.
    Memory,
}

impl StoreUrl {
    /// Reads a store URL.
    pub(crate) fn parse(text: &str) -> Result<Self, InvalidStoreUrl> {
        match text.split_once(':') {
            Some(("sqlite", rest)) => sqlite(rest),
            Some(("memory", "")) => Ok(Self::Memory),
            Some(("memory", _)) => Err(InvalidStoreUrl::MemoryWithName),
            Some(("postgres" | "postgresql", _)) => {
                Ok(Self::Postgres(Box::new(PostgresConfig::parse(text)?)))
            }
            _ => Err(InvalidStoreUrl::UnknownScheme),
        }
    }
}

fn sqlite(rest: &str) -> Result<StoreUrl, InvalidStoreUrl> {
    let (path, query) = match rest.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (rest, None),
    };
    let path = match path.strip_prefix("//") {
        Some(absolute) if absolute.starts_with('/') => absolute,
        Some(name) if !name.is_empty() => return Err(InvalidStoreUrl::Slashes(name.to_owned())),
        Some(_) => return Err(InvalidStoreUrl::NoPath),
        None => path,
    };
    match path {
        "" => Err(InvalidStoreUrl::NoPath),
        ":memory:" => Err(InvalidStoreUrl::SqliteMemory),
        path => {
            let synchronous = query.map_or(Ok(Synchronous::Full), synchronous)?;
            Ok(StoreUrl::Sqlite { path: PathBuf::from(path), synchronous })
        }
    }
}

fn synchronous(query: &str) -> Result<Synchronous, InvalidStoreUrl> {
    let mut given = None;
    for parameter in query.split('&') {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        if name != "synchronous" {
            return Err(InvalidStoreUrl::UnknownParameter(name.to_owned()));
        }
        let value = match value {
            "normal" => Synchronous::Normal,
            "full" => Synchronous::Full,
            "extra" => Synchronous::Extra,
            other => return Err(InvalidStoreUrl::UnknownSynchronous(other.to_owned())),
        };
        if given.replace(value).is_some() {
            return Err(InvalidStoreUrl::RepeatedParameter);
        }
    }
    Ok(given.unwrap_or(Synchronous::Full))
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory:"),
            Self::Postgres(config) => config.fmt(f),
            Self::Sqlite { path, synchronous } => {
                let query = match synchronous {
                    Synchronous::Normal => "?synchronous=normal",
                    Synchronous::Full => "",
                    Synchronous::Extra => "?synchronous=extra",
                };
                write!(f, "sqlite:{}{query}", path.display())
            }
        }
    }
}

/// The text names no store. Each message says what would; none repeats the whole text, which may
/// hold a password.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidStoreUrl {
    #[error(
        "a store is sqlite:PATH (for example sqlite:petstore.db), \
         postgres://USER:PASSWORD@HOST/DATABASE or memory:"
    )]
    UnknownScheme,
    #[error(transparent)]
    Postgres(#[from] InvalidUrl),
    #[error("memory: takes nothing behind the colon; use memory: alone")]
    MemoryWithName,
    #[error("no path is given; use sqlite:PATH, for example sqlite:petstore.db")]
    NoPath,
    #[error("a store in memory is written memory:")]
    SqliteMemory,
    #[error(
        "a host cannot be given; for a relative path use sqlite:{0}, for an absolute one sqlite:/{0}"
    )]
    Slashes(String),
    #[error("there is no parameter '{0}'; the only one is synchronous=normal|full|extra")]
    UnknownParameter(String),
    #[error("synchronous is given twice; give it once")]
    RepeatedParameter,
    #[error("synchronous cannot be '{0}'; it is normal, full or extra")]
    UnknownSynchronous(String),
}

#[cfg(test)]
mod tests {
    use super::{
        InvalidStoreUrl::{
            MemoryWithName, NoPath, Postgres, RepeatedParameter, Slashes, SqliteMemory,
            UnknownParameter, UnknownScheme, UnknownSynchronous,
        },
        InvalidUrl, StoreUrl, Synchronous,
    };

    #[test]
    fn a_store_is_a_file_or_memory() {
        let table = [
            ("sqlite:petstore.db", "petstore.db", Synchronous::Full, "sqlite:petstore.db"),
            ("sqlite:/var/lib/a.db", "/var/lib/a.db", Synchronous::Full, "sqlite:/var/lib/a.db"),
            ("sqlite:///abs/x", "/abs/x", Synchronous::Full, "sqlite:/abs/x"),
            (
                "sqlite:../a b%20é#1.db",
                "../a b%20é#1.db",
                Synchronous::Full,
                "sqlite:../a b%20é#1.db",
            ),
            ("sqlite:a?synchronous=full", "a", Synchronous::Full, "sqlite:a"),
            (
                "sqlite:a?synchronous=normal",
                "a",
                Synchronous::Normal,
                "sqlite:a?synchronous=normal",
            ),
            ("sqlite:a?synchronous=extra", "a", Synchronous::Extra, "sqlite:a?synchronous=extra"),
        ];
        for (text, path, synchronous, shown) in table {
            let url = StoreUrl::parse(text).unwrap();
            assert_eq!(url.to_string(), shown);
            assert_eq!(url, StoreUrl::Sqlite { path: path.into(), synchronous }, "{text}");
        }
        assert_eq!(StoreUrl::parse("memory:"), Ok(StoreUrl::Memory));
        assert_eq!(StoreUrl::Memory.to_string(), "memory:");
    }

    #[test]
    fn a_database_is_shown_without_its_password() {
        let url = StoreUrl::parse("postgres://me:hush@host,other:5433/zoo").unwrap();
        assert_eq!(url.to_string(), "postgres://me:…@host:5432,other:5433/zoo");
        assert!(!format!("{url:?}").contains("hush"));
    }

    #[test]
    fn anything_else_is_refused_with_what_would_be_right() {
        let table = [
            ("", UnknownScheme),
            ("petstore.db", UnknownScheme),
            ("/var/lib/petstore.db", UnknownScheme),
            ("SQLITE:a", UnknownScheme),
            ("mysql://localhost/db", UnknownScheme),
            ("sqlite", UnknownScheme),
            ("memory", UnknownScheme),
            ("memory:x", MemoryWithName),
            ("memory://", MemoryWithName),
            ("postgres://user:secret@localhost", Postgres(InvalidUrl::NoDatabase)),
            ("postgresql:", Postgres(InvalidUrl::Form)),
            ("sqlite:", NoPath),
            ("sqlite://", NoPath),
            ("sqlite:?synchronous=full", NoPath),
            ("sqlite::memory:", SqliteMemory),
            ("sqlite://x", Slashes("x".into())),
            ("sqlite://dir/x?synchronous=full", Slashes("dir/x".into())),
            ("sqlite:a?", UnknownParameter(String::new())),
            ("sqlite:a?mode=ro", UnknownParameter("mode".into())),
            ("sqlite:a?synchronous=full&", UnknownParameter(String::new())),
            ("sqlite:a?synchronous=full&cache=shared", UnknownParameter("cache".into())),
            ("sqlite:a?synchronous", UnknownSynchronous(String::new())),
            ("sqlite:a?synchronous=off", UnknownSynchronous("off".into())),
            ("sqlite:a?synchronous=FULL", UnknownSynchronous("FULL".into())),
            ("sqlite:a?synchronous=full&synchronous=full", RepeatedParameter),
        ];
        for (text, refusal) in table {
            assert!(!refusal.to_string().contains('\n'));
            assert_eq!(StoreUrl::parse(text), Err(refusal), "{text:?}");
        }
    }
}
