//! The command `config`, and the sources of settings: flags, variables, the settings file, and files with a secret.
//!
//! clap's definition is the only declaration of a setting. Each flag of `serve` except `--config` is a setting: it has
//! a variable and is a key of the settings file, also for other commands that have this flag. A value of a file is
//! inserted into the command line as a flag, unless a flag or a variable takes precedence. A flag `--NAME` whose value
//! may contain a password is marked by clap's `hide_env_values`, and has a companion `--NAME-file`.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::{OsStr, OsString},
    path::PathBuf,
};

use clap::{Arg, ArgAction, ArgMatches, Command, Subcommand, parser::ValueSource, value_parser};

use super::{
    config_file,
    values::{variable, variable_of},
};
use crate::{
    serve::ServeArgs,
    system::{Failure, quotable, quotable_path, read_secret},
};

/// The flag that names the settings file.
const CONFIG: &str = "config";

/// The largest number of unknown variables in warnings.
const MAX_UNKNOWN: usize = 10;

/// Commands for the settings of `serve`.
#[derive(Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check the settings of serve, and the key and certificate files that they name
    ///
    /// Takes the flags of serve. The exit code is 0 if serve would accept the settings, and 2 otherwise. Does not open
    /// the store.
    Check(Box<ServeArgs>),
}

/// Adds an environment variable to each flag in `settings`, the flag `--config` to each command that has a setting, and a
/// flag `--NAME-file` for each secret.
pub(super) fn with_sources(command: Command, settings: &BTreeMap<String, bool>) -> Command {
    let file = |name: String, help: String| {
        let arg = Arg::new(name.clone()).long(name).value_name("FILE").help(help);
        arg.value_parser(value_parser!(PathBuf))
    };
    let of_secret = |name| {
        let help = format!("File with the value of --{name}, which may contain a password");
        file(format!("{name}-file"), help)
    };
    let secrets = command.get_arguments().filter(|arg| arg.is_hide_env_values_set());
    let mut files: Vec<_> = secrets.filter_map(Arg::get_long).map(of_secret).collect();
    if command.get_arguments().filter_map(Arg::get_long).any(|flag| settings.contains_key(flag)) {
        let help = "TOML file of settings, whose keys are flags of serve; flags and variables take precedence";
        files.push(file(CONFIG.to_owned(), help.to_owned()));
    }
    let command = command.args(files).mut_args(|arg| with_variable(arg, settings));
    command.mut_subcommands(|inner| with_sources(inner, settings))
}

/// Adds the variable of a setting, of its `--NAME-file`, or of `--config`. An empty variable counts as not set.
fn with_variable(arg: Arg, settings: &BTreeMap<String, bool>) -> Arg {
    let Some(name) = arg.get_long() else { return arg };
    let is_setting = |name: &str| name == CONFIG || settings.contains_key(name);
    let variable = variable_of(name);
    let is_empty = env::var_os(&variable).is_some_and(|value| value.is_empty());
    let has_variable = is_setting(name) || name.strip_suffix("-file").is_some_and(is_setting);
    if has_variable && !is_empty { arg.env(variable) } else { arg }
}

/// Returns the flags of `serve`, which are the keys of the settings file, and whether each takes several values.
pub(super) fn settings(root: &Command) -> BTreeMap<String, bool> {
    let serve = root.find_subcommand("serve").into_iter();
    let flags = serve.flat_map(Command::get_arguments).filter_map(|arg| {
        let name = arg.get_long().filter(|name| *name != CONFIG)?;
        Some((name.to_owned(), matches!(arg.get_action(), ArgAction::Append)))
    });
    flags.collect()
}

/// Returns one line for each unknown variable `PETSTORE_…`, at most [`MAX_UNKNOWN`] lines. Quotes no value, because it
/// may be a secret.
pub(crate) fn unknown_variables(
    root: &Command,
    variables: impl IntoIterator<Item = OsString>,
) -> Vec<String> {
    let mut known = settings(root);
    known.extend([CONFIG, "api-key"].map(|name| (name.to_owned(), false)));
    let names: BTreeSet<_> =
        variables.into_iter().map(|name| name.to_string_lossy().into_owned()).collect();
    // For a Service named petstore, Kubernetes sets `PETSTORE_SERVICE_…` and `PETSTORE_PORT…`.
    let has_service = names.contains("PETSTORE_SERVICE_HOST");
    let is_of_service = |name: &str| name.starts_with("SERVICE_") || name.starts_with("PORT");
    let unknown = names.iter().filter_map(|name| {
        let rest = name.strip_prefix("PETSTORE_")?;
        let is_known = known.keys().any(|known| variable_of(known) == *name);
        let is_expected = is_known || has_service && is_of_service(rest);
        (!is_expected).then(|| format!("{} is not a setting", quotable(name)))
    });
    unknown.take(MAX_UNKNOWN).collect()
}

/// The command line with the settings of files.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    pub(crate) definition: Command,
    /// The command line, with a flag for each setting that a file gives.
    pub(super) words: Vec<OsString>,
    /// The command that the command line names, as clap shows it in errors.
    pub(super) command: Command,
    /// The source of each value that a variable or a file gives, as messages name it, by the name of the flag.
    pub(super) places: BTreeMap<String, String>,
    /// Flags whose values on the command line contain a password.
    pub(crate) passwords: Vec<String>,
}

impl Sources {
    /// Reads the files that the command line or variables name.
    pub(crate) fn read(words: &[OsString], root: &Command) -> Result<Self, Failure> {
        let mut read = Self { definition: root.clone(), words: words.to_vec(), ..Self::default() };
        // The command line is parsed again with the values of files. Until then, only a request for help or the version
        // is an error.
        read.command = root.clone().ignore_errors(true);
        let parsed = read.command.try_get_matches_from_mut(words);
        let Ok(matches) = parsed else { return Ok(read) };
        let (mut given, mut at) = (&matches, 1);
        while let Some((name, inner)) = given.subcommand()
            && let Some(subcommand) = read.command.find_subcommand(name)
        {
            read.command = subcommand.clone();
            (given, at) = (inner, at + 1);
        }
        let flags = read.flags_of_files(given)?;
        let at = words.len().min(at);
        read.words.splice(at..at, flags);
        Ok(read)
    }

    /// Returns a flag for each value that a file gives, unless a flag or a variable takes precedence. `given` contains
    /// the parsed flags and variables. Also records the sources of values, and the flags that contain a password.
    fn flags_of_files(&mut self, given: &ArgMatches) -> Result<Vec<OsString>, Failure> {
        let config = given.try_get_one::<PathBuf>(CONFIG).ok().flatten();
        let read_config = |path: &PathBuf| config_file::read(path, &settings(&self.definition));
        let mut settings = config.map(read_config).transpose()?.unwrap_or_default();
        // `PETSTORE_API_KEY`, which has no flag, takes precedence over `api-key-file` in the settings file.
        let is_set = |name: &str| variable(variable_of(name)).is_some();
        settings.retain(|name, _| !name.strip_suffix("-file").is_some_and(is_set));
        // Returns the source that takes precedence for a flag. `DefaultValue` stands for the settings file. The order
        // of `ValueSource` is the precedence, lowest first.
        let source_of = |id: &str, name: &str| {
            let given = given.value_source(id).filter(|it| *it != ValueSource::DefaultValue);
            given.or_else(|| settings.get(name).map(|_| ValueSource::DefaultValue))
        };
        let mut flags = Vec::new();
        for arg in self.command.get_arguments() {
            let Some(name) = arg.get_long() else { continue };
            let (source, file) = (source_of(arg.get_id().as_str(), name), format!("{name}-file"));
            let is_secret = arg.is_hide_env_values_set();
            let by_file = is_secret.then(|| source_of(&file, &file)).flatten();
            if is_secret && source == Some(ValueSource::CommandLine) && has_password(given, name) {
                self.passwords.push(name.to_owned());
            }
            let (value, path) = if by_file > source {
                let path = given.get_one(&file).cloned();
                let path = path.or_else(|| settings.get(&file).map(PathBuf::from));
                let path = path.unwrap_or_default();
                (read_secret(&path, "")?, path)
            } else if by_file.is_some() && by_file == source {
                let why = format!("both --{name} and --{file} are given; give one of them");
                return Err(Failure::usage(why));
            } else if source == Some(ValueSource::DefaultValue) {
                (settings[name].clone(), config.cloned().unwrap_or_default())
            } else {
                if source == Some(ValueSource::EnvVariable) {
                    self.places.insert(name.to_owned(), variable_of(name));
                }
                continue;
            };
            let is_switch = matches!(arg.get_action(), ArgAction::SetTrue);
            match &*value {
                "false" if is_switch => {}
                "true" if is_switch => flags.push(format!("--{name}").into()),
                value => flags.push(format!("--{name}={value}").into()),
            }
            self.places.insert(name.to_owned(), format!("'{name}' in {}", quotable_path(&path)));
        }
        Ok(flags)
    }
}

/// Returns whether the store URL in the argument `id` contains a password.
fn has_password(given: &ArgMatches, id: &str) -> bool {
    let mut urls = given.get_raw(id).into_iter().flatten().map(OsStr::to_string_lossy);
    urls.any(|url| {
        // As in `petstore_storage::url::Address::parse`, a password may contain `/` and `@`.
        let address = url.split_once("://").and_then(|(_, rest)| rest.split('?').next());
        let user = address.and_then(|address| address.rsplit_once('@'));
        user.is_some_and(|(user, _)| user.contains(':'))
    })
}
