//! The key that comes with the configuration instead of the store.

use std::{ffi::OsStr, path::Path};

use petstore_domain::ServiceKey;

use crate::{
    cli::config_file,
    failure::{Failure, quotable_path},
    serve::reload::{self, Followed},
};

/// The variable that may hold the key itself. It has no flag: a command line is there for
/// everybody to read.
pub(super) const VARIABLE: &str = "PETSTORE_API_KEY";

/// What the log calls the key of a file.
const NAME: &str = "the API key of --api-key-file";

/// The key, and what takes up the changes of its file if it has one.
pub(super) type Given = (ServiceKey, Option<Followed>);

/// Reads the key from the variable or from the file, whichever is given. No failure repeats it.
pub(super) fn read(
    variable: Option<&OsStr>,
    file: Option<&Path>,
) -> Result<Option<Given>, Failure> {
    match (variable, file) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(Failure::usage(format!(
            "both {VARIABLE} and --api-key-file (PETSTORE_API_KEY_FILE) are given; give one of them"
        ))),
        // One that is not Unicode is not visible ASCII either, replaced or not.
        (Some(text), None) => Ok(Some((parse(&text.to_string_lossy(), VARIABLE)?, None))),
        (None, Some(path)) => {
            let paths = vec![path.to_owned()];
            let before = reload::stamp(&paths);
            let (key, path) = (from_file(path)?, path.to_owned());
            let current = key.clone();
            let reload = move || {
                current.replace(&from_file(&path).map_err(|failure| failure.to_string())?);
                Ok(())
            };
            Ok(Some((key, Some(Followed::new(NAME, paths, before, reload)))))
        }
    }
}

fn from_file(path: &Path) -> Result<ServiceKey, Failure> {
    let key = config_file::secret(path, "the API key file ")?;
    parse(&key, &format!("the API key file {}", quotable_path(path)))
}

fn parse(key: &str, source: &str) -> Result<ServiceKey, Failure> {
    ServiceKey::parse(key)
        .map_err(|error| Failure::usage(format!("{source} does not hold an API key: {error}")))
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsStr, fs, path::Path};

    use super::{Given, read};
    use crate::failure::Failure;

    const KEY: &str = "a-key-of-24-characters-x";

    fn from_file(content: &[u8]) -> Result<Option<Given>, Failure> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), content).unwrap();
        read(None, Some(file.path()))
    }

    #[test]
    fn a_key_comes_from_the_variable_or_from_the_file() {
        assert!(read(None, None).unwrap().is_none());
        assert!(read(Some(OsStr::new(KEY)), None).unwrap().is_some());
        for end in ["", "\n", "\r\n"] {
            assert!(from_file(format!("{KEY}{end}").as_bytes()).unwrap().is_some(), "{end:?}");
        }
        assert!(from_file(format!("{}\r\n", "k".repeat(1024)).as_bytes()).unwrap().is_some());
    }

    #[test]
    fn a_key_that_cannot_be_one_is_wrong_usage_and_not_repeated() {
        let too_long = "k".repeat(1025);
        for content in [
            "",
            "\n",
            "short",
            &format!("{KEY}\n\n"),
            &format!(" {KEY}"),
            &too_long,
            "kkkkkkkkkkkkkkkké",
        ] {
            let from_variable = read(Some(OsStr::new(content)), None);
            for refusal in [from_variable, from_file(content.as_bytes())] {
                let Err(Failure::Usage(line)) = refusal else { panic!("{content:?}") };
                assert!(line.ends_with("16 to 1024 characters, all of them visible ASCII"));
                assert!(content.trim().is_empty() || !line.contains(content.trim()), "{line}");
            }
        }
        assert!(matches!(from_file(b"\xff\xfe0123456789abcdef"), Err(Failure::Runtime(_))));
    }

    #[test]
    fn two_keys_are_wrong_usage_and_a_missing_file_is_a_failure() {
        let nowhere = Path::new("/nowhere/key");
        let both = read(Some(OsStr::new(KEY)), Some(nowhere));
        assert!(matches!(both, Err(Failure::Usage(_))));
        assert!(matches!(read(None, Some(nowhere)), Err(Failure::Runtime(_))));
    }
}
