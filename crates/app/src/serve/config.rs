//! What `serve` is configured with.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use petstore_domain::ServiceKey;
use petstore_http::{Settings, StaticFile};
use petstore_pages::{FILES, File};
use tracing_subscriber::filter::Targets;

use crate::{
    cli::{self, ServeArgs, config_file},
    failure::{Failure, quotable_path},
    logging,
    serve::{
        reload::{self, Followed},
        tls::PairFiles,
    },
};

/// The variable that may hold the API key of the service itself. It has no flag: a command line is there for
/// everybody to read.
const KEY_VARIABLE: &str = "PETSTORE_API_KEY";

/// What the log calls the key of a file.
const KEY_NAME: &str = "the API key of --api-key-file";

/// The key that comes with the configuration instead of the store, and what takes up the changes of its file if it has
/// one.
type Given = (ServiceKey, Option<Followed>);

/// What `serve` works with, all of it checked.
pub(crate) struct Config {
    pub(crate) args: ServeArgs,
    /// Selects the events that are logged.
    pub(crate) log_filter: Targets,
    /// `None` for plain HTTP.
    pub(super) tls: Option<PairFiles>,
    pub(super) service_key: Option<ServiceKey>,
    /// The file of that key, if it has one.
    pub(super) key_file: Option<Followed>,
    pub(super) settings: Settings,
}

impl Config {
    /// Completes the flags by what only the environment and the key file can say.
    pub(crate) fn read(args: ServeArgs) -> Result<Self, Failure> {
        let mut settings = args.settings();
        if settings.limits.max_buffered_bodies < settings.limits.max_body {
            let message = "--max-buffered-bodies must be at least --max-body";
            return Err(Failure::usage(message.to_owned()));
        }
        if !args.no_docs {
            settings.static_files = static_files();
        }
        let given =
            read_service_key(cli::variable(KEY_VARIABLE).as_deref(), args.api_key_file.as_deref())?;
        let (service_key, key_file) = given.unzip();
        Ok(Self {
            log_filter: logging::filter(args.log.as_deref())?,
            tls: pair_files(args.tls_cert.clone(), args.tls_key.clone())?,
            service_key,
            key_file: key_file.flatten(),
            settings,
            args,
        })
    }
}

fn pair_files(
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
) -> Result<Option<PairFiles>, Failure> {
    let missing = match (certificate, key) {
        (Some(certificate), Some(key)) => return Ok(Some(PairFiles { certificate, key })),
        (None, None) => return Ok(None),
        (Some(_), None) => "--tls-key",
        (None, Some(_)) => "--tls-cert",
    };
    Err(Failure::usage(format!("--tls-cert and --tls-key belong together: {missing} is missing")))
}

/// Returns every file of the browser pages, the reference first.
fn static_files() -> Vec<StaticFile> {
    let files = FILES.iter().map(|file| {
        let File { path, media_type, content_security_policy, tag, content, gzip } = *file;
        StaticFile { path, media_type, content_security_policy, tag, content, gzip }
    });
    files.collect()
}

/// Reads the key from the variable or from the file, whichever is given. No failure repeats it.
fn read_service_key(
    variable: Option<&OsStr>,
    file: Option<&Path>,
) -> Result<Option<Given>, Failure> {
    match (variable, file) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(Failure::usage(format!(
            "both {KEY_VARIABLE} and --api-key-file (PETSTORE_API_KEY_FILE) are given; give one of them"
        ))),
        // One that is not Unicode is not visible ASCII either, replaced or not.
        (Some(text), None) => Ok(Some((parse(&text.to_string_lossy(), KEY_VARIABLE)?, None))),
        (None, Some(path)) => {
            let paths = vec![path.to_owned()];
            let before = reload::stamp(&paths);
            let (key, path) = (from_file(path)?, path.to_owned());
            let current = key.clone();
            let reload = move || {
                current.replace(&from_file(&path).map_err(|failure| failure.to_string())?);
                Ok(())
            };
            Ok(Some((key, Some(Followed::new(KEY_NAME, paths, before, reload)))))
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

    use super::{Given, read_service_key as read};
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
