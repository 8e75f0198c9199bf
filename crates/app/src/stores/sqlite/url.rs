//! Reads `sqlite:PATH` and `sqlite:PATH?synchronous=normal|full|extra`.

use std::path::PathBuf;

use petstore_sqlite::{SqliteConfig, Synchronous};

/// Reads the URL. Nothing in the path is percent-encoded, and it cannot hold a `?`.
pub(super) fn parse(url: &str) -> Result<SqliteConfig, InvalidUrl> {
    let rest = url.strip_prefix("sqlite:").ok_or(InvalidUrl::NoPath)?;
    let (path, query) = match rest.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (rest, None),
    };
    // As other programs write it: sqlite::memory:, sqlite://:memory:, sqlite:///:memory:.
    if path.ends_with(":memory:") {
        return Err(InvalidUrl::Memory);
    }
    let path = match path.strip_prefix("//") {
        Some(absolute) if absolute.starts_with('/') => one_slash(absolute),
        Some(name) if !name.is_empty() => return Err(InvalidUrl::Slashes),
        Some(_) => return Err(InvalidUrl::NoPath),
        None => path,
    };
    match path {
        "" => Err(InvalidUrl::NoPath),
        path => {
            let synchronous = query.map_or(Ok(Synchronous::Full), synchronous)?;
            Ok(SqliteConfig { path: PathBuf::from(path), synchronous })
        }
    }
}

/// An absolute path without further slashes in front: shown as a URL, two would be those of a host.
fn one_slash(path: &str) -> &str {
    let slashes = path.len() - path.trim_start_matches('/').len();
    &path[slashes.saturating_sub(1)..]
}

fn synchronous(query: &str) -> Result<Synchronous, InvalidUrl> {
    let mut given = None;
    for parameter in query.split('&') {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        if name != "synchronous" {
            return Err(InvalidUrl::UnknownParameter);
        }
        let value = match value {
            "normal" => Synchronous::Normal,
            "full" => Synchronous::Full,
            "extra" => Synchronous::Extra,
            _ => return Err(InvalidUrl::UnknownSynchronous),
        };
        if given.replace(value).is_some() {
            return Err(InvalidUrl::RepeatedParameter);
        }
    }
    Ok(given.unwrap_or(Synchronous::Full))
}

/// The text names no SQLite file. Each message says what would, and repeats nothing: it may be the URL of a
/// database with a password, under another scheme.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum InvalidUrl {
    #[error("no path is given; use sqlite:PATH, for example sqlite:petstore.db")]
    NoPath,
    #[error("a store in memory is written memory: alone, and only serve takes it")]
    Memory,
    #[error(
        "a host cannot be given; for a relative path use sqlite:PATH, for an absolute one sqlite:/PATH"
    )]
    Slashes,
    #[error("the only parameter is synchronous=normal|full|extra")]
    UnknownParameter,
    #[error("synchronous is given twice; give it once")]
    RepeatedParameter,
    #[error("the value of synchronous is not allowed: it is normal, full or extra")]
    UnknownSynchronous,
}

#[cfg(test)]
mod tests {
    use super::{
        InvalidUrl::{
            Memory, NoPath, RepeatedParameter, Slashes, UnknownParameter, UnknownSynchronous,
        },
        SqliteConfig, Synchronous, parse,
    };

    #[test]
    fn a_url_names_a_path_and_what_a_commit_waits_for() {
        for (url, path, synchronous) in [
            ("sqlite:petstore.db", "petstore.db", Synchronous::Full),
            ("sqlite:/var/lib/a.db", "/var/lib/a.db", Synchronous::Full),
            ("sqlite:///abs/x", "/abs/x", Synchronous::Full),
            ("sqlite:////abs//x", "/abs//x", Synchronous::Full),
            ("sqlite:../a b%20é#1.db", "../a b%20é#1.db", Synchronous::Full),
            ("sqlite:a?synchronous=full", "a", Synchronous::Full),
            ("sqlite:a?synchronous=normal", "a", Synchronous::Normal),
            ("sqlite:a?synchronous=extra", "a", Synchronous::Extra),
        ] {
            assert_eq!(parse(url), Ok(SqliteConfig { path: path.into(), synchronous }), "{url}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_what_would_be_right() {
        let table = [
            ("sqlite:", NoPath),
            ("sqlite://", NoPath),
            ("sqlite:?synchronous=full", NoPath),
            ("sqlite::memory:", Memory),
            ("sqlite://:memory:", Memory),
            ("sqlite:///:memory:", Memory),
            ("sqlite:file::memory:?cache=shared", Memory),
            ("sqlite://x", Slashes),
            ("sqlite://dir/x?synchronous=full", Slashes),
            ("sqlite:a?", UnknownParameter),
            ("sqlite:a?mode=ro", UnknownParameter),
            ("sqlite:a?synchronous=full&", UnknownParameter),
            ("sqlite:a?synchronous=full&cache=shared", UnknownParameter),
            ("sqlite:a?synchronous", UnknownSynchronous),
            ("sqlite:a?synchronous=off", UnknownSynchronous),
            ("sqlite:a?synchronous=FULL", UnknownSynchronous),
            ("sqlite:a?synchronous=full&synchronous=full", RepeatedParameter),
        ];
        for (url, refusal) in table {
            assert!(!refusal.to_string().contains('\n'));
            assert_eq!(parse(url), Err(refusal), "{url:?}");
        }
    }
}
