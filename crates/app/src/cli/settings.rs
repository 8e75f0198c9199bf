//! The command `config`, and where settings come from: flags, variables, the file of settings, and files that hold a secret.
//!
//! clap's definition is the one declaration of each setting. The flags of `serve` have variables, with the
//! same meaning wherever a command shares the flag; what only another command has is given only by a flag.
//! The keys of the file of settings are the names of `serve`'s flags. A value of a file passes the parser of
//! its flag and becomes the flag's default, so flags and variables outweigh it.
//!
//! An argument whose value may hold a password, so that `--help` hides it, has a second one, `--NAME-file`,
//! which names a file that holds the value.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use clap::{
    Arg, ArgAction, ArgMatches, Command, Subcommand, builder::Resettable, parser::ValueSource,
    value_parser,
};

use super::{
    config_file::{self, Values},
    refusal,
    values::{variable, variable_of},
};
use crate::{
    serve::ServeArgs,
    stores::StoreArg,
    system::{
        console::columns,
        failure::{Failure, quotable, quotable_path},
        files::read_secret,
    },
};

/// The flag that names the file of settings.
const CONFIG: &str = "config";

/// The variable of the one setting that has no flag.
const API_KEY: &str = "PETSTORE_API_KEY";

/// Unknown variables that are warned of.
const MAX_UNKNOWN: usize = 10;

/// Commands for the settings of `serve`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print each setting of serve that is in force, and where it comes from.
    ///
    /// It takes the flags of serve. A flag outweighs its variable, which outweighs the file that --config
    /// names. Secrets are hidden.
    Show(Box<ServeArgs>),
    /// Check the settings of serve, and the files of keys and certificates that they name.
    ///
    /// It takes the flags of serve. The exit code is 0 if serve would accept them, and 2 otherwise. The store is
    /// not opened.
    Check(Box<ServeArgs>),
}

/// Adds the variable of each of `settings`, `--config` to each command that has a setting, and `--NAME-file` beside
/// each secret.
pub(super) fn with_sources(command: Command, settings: &BTreeMap<String, bool>) -> Command {
    let file_arg = |name: String, help: String| {
        Arg::new(name.clone())
            .long(name)
            .value_name("FILE")
            .help(help)
            .value_parser(value_parser!(PathBuf))
    };
    let mut files: Vec<_> = secrets(&command)
        .map(|name| {
            let help =
                format!("A file that holds the value of --{name}, which may have a password");
            file_arg(file_of(name), help)
        })
        .collect();
    if command.get_arguments().filter_map(Arg::get_long).any(|flag| settings.contains_key(flag)) {
        let help =
            "A TOML file of settings: its keys are flags of serve. Flags and variables outweigh it";
        files.push(file_arg(CONFIG.to_owned(), help.to_owned()));
    }
    let command = command.args(files).mut_args(|arg| with_variable(arg, settings));
    command.mut_subcommands(|inner| with_sources(inner, settings))
}

/// Adds the variable of a setting, of its file, or of `--config`. One that is set to nothing counts as not set.
fn with_variable(arg: Arg, settings: &BTreeMap<String, bool>) -> Arg {
    let Some(name) = arg.get_long() else { return arg };
    let is_setting = |name: &str| name == CONFIG || settings.contains_key(name);
    let variable = variable_of(name);
    let is_empty = env::var_os(&variable).is_some_and(|value| value.is_empty());
    let has_variable = is_setting(name) || name.strip_suffix("-file").is_some_and(is_setting);
    if has_variable && !is_empty { arg.env(variable) } else { arg }
}

/// Returns the flags whose values may hold a password: those that keep their values out of `--help`.
fn secrets(command: &Command) -> impl Iterator<Item = &str> {
    let secrets = command.get_arguments().filter(|arg| arg.is_hide_env_values_set());
    secrets.filter_map(Arg::get_long)
}

/// Returns the argument that names a file with the value of a secret.
fn file_of(secret: &str) -> String {
    format!("{secret}-file")
}

/// Returns the flags of `serve`, which are the keys of the file, and whether each takes several values.
pub(super) fn settings(root: &Command) -> BTreeMap<String, bool> {
    let serve = root.find_subcommand("serve").into_iter();
    let flags = serve.flat_map(Command::get_arguments).filter_map(|arg| {
        let name = arg.get_long().filter(|name| *name != CONFIG)?;
        Some((name.to_owned(), matches!(arg.get_action(), ArgAction::Append)))
    });
    flags.collect()
}

/// Returns a line for each variable that is named like one of petstore's and is none, `MAX_UNKNOWN` at most. What it
/// is set to may be a secret.
pub(crate) fn unknown_variables(
    root: &Command,
    variables: impl IntoIterator<Item = OsString>,
) -> Vec<String> {
    let mut known = settings(root);
    known.extend([CONFIG, "api-key"].map(|name| (name.to_owned(), false)));
    let names: BTreeSet<_> =
        variables.into_iter().map(|name| name.to_string_lossy().into_owned()).collect();
    // Kubernetes sets these where a Service is called petstore.
    let has_service = names.contains("PETSTORE_SERVICE_HOST");
    let is_of_service = |name: &str| name.starts_with("SERVICE_") || name.starts_with("PORT");
    let unknown = names.iter().filter_map(|name| {
        let rest = name.strip_prefix("PETSTORE_")?;
        let flag = rest.to_lowercase().replace('_', "-");
        let is_known = known.keys().any(|known| variable_of(known) == *name);
        if is_known || has_service && is_of_service(rest) {
            return None;
        }
        let nearest = config_file::nearest(&flag, &known).map(variable_of);
        let hint = nearest.map_or(String::new(), |nearest| format!("; did you mean {nearest}?"));
        Some(format!("{} is not a setting{hint}", quotable(name)))
    });
    unknown.take(MAX_UNKNOWN).collect()
}

/// The definition with what files give as defaults.
#[derive(Debug)]
pub(crate) struct Sources {
    pub(crate) definition: Command,
    /// The names of the command that the words ask for, below the program's own.
    pub(super) path: Vec<String>,
    /// The file that gives a setting, by the name of its flag.
    pub(super) origins: BTreeMap<String, PathBuf>,
    /// Flags that give a password, which the process list shows to every user of the machine.
    pub(crate) passwords: Vec<String>,
}

impl Sources {
    /// Reads the files that the words, or variables, name.
    pub(crate) fn read(words: &[OsString], root: &Command) -> Result<Self, Failure> {
        let mut read = Self {
            definition: root.clone(),
            path: Vec::new(),
            origins: BTreeMap::new(),
            passwords: Vec::new(),
        };
        // Parsing with all defaults reports invalid words later.
        let found = root.clone().ignore_errors(true).try_get_matches_from(words);
        let Ok(mut matches) = found else { return Ok(read) };
        let mut command = root;
        while let Some((name, inner)) = matches.remove_subcommand()
            && let Some(subcommand) = command.find_subcommand(&name)
        {
            (command, matches) = (subcommand, inner);
            read.path.push(name);
        }
        let config = matches.try_get_one::<PathBuf>(CONFIG).ok().flatten();
        let values = match config {
            Some(path) => config_file::read(path, &settings(root))?,
            None => Values::new(),
        };
        let mut args = Vec::new();
        for arg in command.get_arguments() {
            let Some(name) = arg.get_long() else { continue };
            let is_secret = arg.is_hide_env_values_set();
            let given = if is_secret {
                secret(name, &matches, &values, config)?
            } else {
                let values = values.get(name).filter(|_| !has_variable_of_its_content(name));
                values.cloned().zip(config.cloned())
            };
            // The file that a flag names for a secret outweighs the variable.
            let is_outweighed = is_secret && given.is_some();
            let by_flag =
                matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
            if is_secret && by_flag {
                let urls = matches.get_raw(arg.get_id().as_str()).into_iter().flatten();
                let shown = urls.filter(|url| holds_password(&url.to_string_lossy()));
                read.passwords.extend(shown.map(|_| name.to_owned()));
            }
            if let Some(value) =
                arg.get_env().filter(|_| !is_outweighed && !by_flag).and_then(variable)
            {
                check(arg, name, &[value.to_string_lossy().into_owned()], None)?;
            }
            let Some((values, origin)) = given else { continue };
            check(arg, name, &values, Some(&origin))?;
            let arg = arg.clone().required(false).default_values(values);
            args.push(if is_outweighed {
                arg.hide_default_value(true).env(Resettable::Reset)
            } else {
                arg
            });
            read.origins.insert(name.to_owned(), origin);
        }
        read.definition = with_args(read.definition, &read.path, &args);
        Ok(read)
    }
}

/// Returns whether the URL of a store has a password.
fn holds_password(url: &str) -> bool {
    let authority = url.split_once("://").and_then(|(_, rest)| rest.split(['/', '?']).next());
    let user = authority.and_then(|authority| authority.rsplit_once('@'));
    user.is_some_and(|(user, _)| user.contains(':'))
}

/// Replaces arguments of the command at `path`, each in its place.
fn with_args(command: Command, path: &[String], args: &[Arg]) -> Command {
    match path.split_first() {
        Some((name, path)) => command.mut_subcommand(name, |inner| with_args(inner, path, args)),
        None => command.mut_args(|arg| {
            let new = args.iter().find(|new| new.get_id() == arg.get_id());
            new.cloned().unwrap_or(arg)
        }),
    }
}

/// Checks values of a file, or of the variable of their argument, with its parser.
fn check(arg: &Arg, name: &str, values: &[String], file: Option<&Path>) -> Result<(), Failure> {
    let place = file.map_or_else(|| variable_of(name), quotable_path);
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        let are_bool = values.iter().all(|value| ["true", "false"].contains(&value.as_str()));
        let message = format!("{place}: '{name}' must be true or false");
        return if are_bool { Ok(()) } else { Err(Failure::usage(message)) };
    }
    let command = Command::new("petstore").no_binary_name(true).arg(arg.clone());
    let words = values.iter().map(|value| format!("--{name}={value}"));
    command.try_get_matches_from(words).map(drop).map_err(|error| {
        let source = if file.is_some() { format!("'{name}' in {place}") } else { place };
        Failure::usage(refusal::of_value(error, arg, &source))
    })
}

/// Returns the value of a secret that a file gives: one named by a flag, by a variable, or by the file of
/// settings, in this order. Neither may be given in two forms at once.
fn secret(
    name: &str,
    matches: &ArgMatches,
    settings: &Values,
    config: Option<&PathBuf>,
) -> Result<Option<(Vec<String>, PathBuf)>, Failure> {
    let file = file_of(name);
    // The file of settings gives defaults.
    let source = |name: &str| match matches.value_source(name) {
        Some(ValueSource::DefaultValue) | None => {
            settings.contains_key(name).then_some(ValueSource::DefaultValue)
        }
        given => given,
    };
    let (by_value, by_file) = (source(name), source(&file));
    if by_value.is_some() && by_value == by_file {
        let [one, other] = [name, &file].map(|name| match by_value {
            Some(ValueSource::CommandLine) => format!("--{name}"),
            Some(ValueSource::EnvVariable) => variable_of(name),
            _ => name.to_owned(),
        });
        let message = format!("both {one} and {other} are given; give one of them");
        return Err(Failure::usage(message));
    }
    if by_value >= by_file {
        let value = settings.get(name).filter(|_| by_value == Some(ValueSource::DefaultValue));
        return Ok(value.cloned().zip(config.cloned()));
    }
    let by_setting = settings.get(&file).map(|path| PathBuf::from(path.concat()));
    let named = matches.get_one::<PathBuf>(&file).cloned().or(by_setting);
    named.map(|path| Ok((vec![read_secret(&path, "")?], path))).transpose()
}

/// Returns whether this names a file, and a variable gives what the file would hold.
fn has_variable_of_its_content(name: &str) -> bool {
    name.strip_suffix("-file").is_some_and(|content| variable(variable_of(content)).is_some())
}

/// Returns what `config show` prints if these are its words: a line for each setting, under headings.
pub(crate) fn shown(sources: &Sources, words: &[OsString]) -> Option<String> {
    let command = sources.definition.find_subcommand("config")?.find_subcommand("show")?;
    let matches = sources.definition.clone().try_get_matches_from(words).ok()?;
    let matches = matches.subcommand_matches("config")?.subcommand_matches("show")?;
    let secrets: Vec<_> = secrets(command).collect();
    let is_shown =
        |name: &&str| *name != CONFIG && !secrets.iter().any(|secret| file_of(secret) == *name);
    let mut rows = vec![["SETTING", "VALUE", "FROM"].map(str::to_owned)];
    for arg in command.get_arguments() {
        let Some(name) = arg.get_long().filter(is_shown) else { continue };
        let id = arg.get_id().as_str();
        let value = if secrets.contains(&name) {
            matches.get_one::<StoreArg>(id).map(|store| store.location.to_string())
        } else {
            let values = matches.get_raw(id);
            values.map(|values| values.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(", "))
        };
        let from = match matches.value_source(id) {
            Some(ValueSource::CommandLine) => format!("--{name}"),
            Some(ValueSource::EnvVariable) => variable_of(name),
            _ => {
                let file = sources.origins.get(name);
                file.map_or_else(|| "default".to_owned(), |file| file.display().to_string())
            }
        };
        rows.push([name.to_owned(), value.unwrap_or_else(|| "-".to_owned()), from]);
    }
    if variable(API_KEY).is_some() {
        rows.push(["api-key", "(hidden)", API_KEY].map(str::to_owned));
    }
    Some(columns(&rows))
}
