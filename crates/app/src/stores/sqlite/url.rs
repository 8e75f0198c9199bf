//! Reads `sqlite:PATH` and `sqlite:PATH?synchronous=normal|full|extra`.

use std::path::PathBuf;

use petstore_sqlite::{SqliteConfig, Synchronous};

const NO_PATH: &str = "no path is given; use sqlite:PATH, for example sqlite:petstore.db";

/// Reads the URL, or says what would be right. What it says repeats nothing of the URL, which may be that of a database
/// with a password, under another scheme. Nothing in the path is percent-encoded, and it cannot hold a `?`.
pub(super) fn parse(url: &str) -> Result<SqliteConfig, &'static str> {
    let rest = url.strip_prefix("sqlite:").ok_or(NO_PATH)?;
    let (path, query) = match rest.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (rest, None),
    };
    // As other programs write it: sqlite::memory:, sqlite://:memory:, sqlite:///:memory:.
    if path.ends_with(":memory:") {
        return Err("a store in memory is written memory: alone, and only serve takes it");
    }
    let path = match path.strip_prefix("//") {
        Some(absolute) if absolute.starts_with('/') => one_slash(absolute),
        Some(name) if !name.is_empty() => {
            return Err(
                "a host cannot be given; for a relative path use sqlite:PATH, for an absolute one sqlite:/PATH",
            );
        }
        Some(_) => return Err(NO_PATH),
        None => path,
    };
    match path {
        "" => Err(NO_PATH),
        path => {
            let synchronous = match query {
                Some("synchronous=normal") => Synchronous::Normal,
                Some("synchronous=full") | None => Synchronous::Full,
                Some("synchronous=extra") => Synchronous::Extra,
                Some(_) => return Err("the only parameter is synchronous=normal|full|extra"),
            };
            Ok(SqliteConfig { path: PathBuf::from(path), synchronous })
        }
    }
}

/// An absolute path without further slashes in front: shown as a URL, two would be those of a host.
fn one_slash(path: &str) -> &str {
    let slashes = path.len() - path.trim_start_matches('/').len();
    &path[slashes.saturating_sub(1)..]
}

#[cfg(test)]
mod tests {
    use super::{SqliteConfig, Synchronous, parse};

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
            ("sqlite:", "no path"),
            ("sqlite://", "no path"),
            ("sqlite:?synchronous=full", "no path"),
            ("sqlite::memory:", "memory: alone"),
            ("sqlite://:memory:", "memory: alone"),
            ("sqlite:///:memory:", "memory: alone"),
            ("sqlite:file::memory:?cache=shared", "memory: alone"),
            ("sqlite://x", "a host"),
            ("sqlite://dir/x?synchronous=full", "a host"),
            ("sqlite:a?", "the only parameter"),
            ("sqlite:a?mode=ro", "the only parameter"),
            ("sqlite:a?synchronous=full&", "the only parameter"),
            ("sqlite:a?synchronous=full&cache=shared", "the only parameter"),
            ("sqlite:a?synchronous", "the only parameter"),
            ("sqlite:a?synchronous=off", "the only parameter"),
            ("sqlite:a?synchronous=FULL", "the only parameter"),
            ("sqlite:a?synchronous=full&synchronous=full", "the only parameter"),
        ];
        for (url, refusal) in table {
            let why = parse(url).unwrap_err();
            assert!(why.contains(refusal), "{url:?}: {why}");
        }
    }
}
