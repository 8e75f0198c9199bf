//! The words of a command line, completed by what files give.
//!
//! clap's definition is the one declaration of each setting. The keys of the file of settings are the names of
//! `serve`'s flags. What a file gives, and neither a flag nor a variable, is put among the words as a flag. So
//! every value passes the same parser, wherever it comes from.
//!
//! An argument whose value may hold a password, so that `--help` hides it, has a second one, `--NAME-file`,
//! which names a file that holds the value.

use std::{
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use clap::{Arg, ArgAction, Command, builder::ValueParser};

use super::config_file;
use crate::failure::Failure;

/// The flag that names the file of settings.
const CONFIG: &str = "config";

/// The words, and which of them came from a file.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(super) words: Vec<OsString>,
    /// By the name of the flag, without dashes: the file.
    pub(super) origins: BTreeMap<String, PathBuf>,
}

/// Gives each command that has a setting of `serve` the flag `--config`, and each secret its `--NAME-file`.
pub(super) fn with_files(command: Command) -> Command {
    let settings = settings(&command);
    with_files_for(command, &settings)
}

fn with_files_for(command: Command, settings: &[String]) -> Command {
    let flags: Vec<_> = command.get_arguments().filter_map(Arg::get_long).collect();
    let has_settings = flags.iter().any(|flag| settings.iter().any(|setting| setting == flag));
    let secrets: Vec<_> = secrets(&command).map(str::to_owned).collect();
    let mut command = command;
    for secret in secrets {
        let help = format!("A file that holds the value of --{secret}, which may have a password");
        command = command.arg(path_arg(&format!("{secret}-file"), help));
    }
    if has_settings {
        let help =
            "A TOML file of settings: its keys are flags of serve. Flags and variables outweigh it";
        command = command.arg(path_arg(CONFIG, help.to_owned()));
    }
    command.mut_subcommands(|inner| with_files_for(inner, settings))
}

fn path_arg(name: &str, help: String) -> Arg {
    let variable = variable_of(name);
    let arg = Arg::new(name.to_owned()).long(name.to_owned()).value_name("FILE").env(variable);
    arg.value_parser(ValueParser::path_buf()).help(help)
}

/// The environment variable named after a flag: `--header-timeout`, `PETSTORE_HEADER_TIMEOUT`.
pub(super) fn variable_of(flag: &str) -> String {
    let words = flag.trim_start_matches('-').replace('-', "_");
    format!("PETSTORE_{}", words.to_ascii_uppercase())
}

/// The flags of `serve`, which are the keys of the file.
fn settings(root: &Command) -> Vec<String> {
    let serve = root.find_subcommand("serve").into_iter();
    let flags = serve.flat_map(Command::get_arguments).filter_map(Arg::get_long);
    flags.filter(|flag| *flag != CONFIG).map(str::to_owned).collect()
}

/// The flags whose values may hold a password.
pub(super) fn secrets(command: &Command) -> impl Iterator<Item = &str> {
    let secret = command.get_arguments().filter(|arg| arg.is_hide_env_values_set());
    secret.filter_map(Arg::get_long)
}

/// The command that the words name, and how many words that takes.
pub(super) fn command_of<'a>(words: &[OsString], root: &'a Command) -> (Vec<&'a Command>, usize) {
    let mut path = vec![root];
    for word in words.iter().skip(1) {
        let found = path.last().and_then(|command| command.find_subcommand(word));
        let Some(found) = found else { break };
        path.push(found);
    }
    let length = path.len();
    (path, length)
}

impl Arguments {
    /// Completes the words by the files that they, or variables, name.
    pub(crate) fn complete(words: &[OsString], root: &Command) -> Result<Self, Failure> {
        let (path, at) = command_of(words, root);
        let Some(command) = path.last() else { return Ok(Self::new(words)) };
        let given = Given { flags: words.get(at..).unwrap_or_default() };
        if given.flags.iter().any(|word| word == "--help" || word == "-h") {
            return Ok(Self::new(words));
        }
        let config = given.path(command, CONFIG);
        let file = match &config {
            Some(path) => config_file::read(path, &settings(root))?,
            None => BTreeMap::new(),
        };
        let mut completion = Completion { words: Vec::new(), origins: BTreeMap::new() };
        for arg in command.get_arguments() {
            let Some(name) = arg.get_long() else { continue };
            let source = if arg.is_hide_env_values_set() {
                given.secret(arg, name, &file, config.as_deref())?
            } else if given.has(arg) || has_variable_of_its_content(name) {
                None
            } else {
                file.get(name).cloned().zip(config.clone())
            };
            if let Some((value, origin)) = source {
                completion.add(arg, name, value, origin)?;
            }
        }
        let mut completed = words.to_vec();
        completed.splice(at..at, completion.words);
        Ok(Self { words: completed, origins: completion.origins })
    }

    /// The words alone.
    pub(super) fn new(words: &[OsString]) -> Self {
        Self { words: words.to_vec(), origins: BTreeMap::new() }
    }
}

/// The words that are added.
struct Completion {
    words: Vec<OsString>,
    origins: BTreeMap<String, PathBuf>,
}

impl Completion {
    fn add(
        &mut self,
        arg: &Arg,
        name: &str,
        value: String,
        origin: PathBuf,
    ) -> Result<(), Failure> {
        match (arg.get_action(), value.as_str()) {
            (ArgAction::SetTrue, "true") => self.words.push(format!("--{name}").into()),
            (ArgAction::SetTrue, "false") => {}
            (ArgAction::SetTrue, _) => {
                let file = origin.display();
                return Err(Failure::usage(format!("{file}: '{name}' must be true or false")));
            }
            _ => self.words.push(format!("--{name}={value}").into()),
        }
        self.origins.insert(name.to_owned(), origin);
        Ok(())
    }
}

/// What the user gave by flags and variables.
struct Given<'a> {
    flags: &'a [OsString],
}

impl Given<'_> {
    /// Whether a flag or a variable gives the argument.
    fn has(&self, arg: &Arg) -> bool {
        self.flag(arg).is_some() || variable(arg).is_some()
    }

    /// The value of the flag if it was written, also under a former name; empty if it has none.
    fn flag(&self, arg: &Arg) -> Option<&OsStr> {
        let names = arg.get_long().into_iter().chain(arg.get_all_aliases().unwrap_or_default());
        let names: Vec<_> = names.map(|name| format!("--{name}")).collect();
        let mut words = self.flags.iter().take_while(|word| *word != "--").peekable();
        while let Some(word) = words.next() {
            for name in &names {
                let Some(rest) = word.as_encoded_bytes().strip_prefix(name.as_bytes()) else {
                    continue;
                };
                match rest {
                    [] => {
                        return Some(words.peek().map_or(OsStr::new(""), |next| next.as_os_str()));
                    }
                    [b'=', ..] => {
                        let value = word.to_str().and_then(|word| word.split_once('='));
                        return Some(OsStr::new(value.map_or("", |(_, value)| value)));
                    }
                    _ => {}
                }
            }
        }
        None
    }

    /// The file that the argument names, if the command has it.
    fn path(&self, command: &Command, name: &str) -> Option<PathBuf> {
        let arg = command.get_arguments().find(|arg| arg.get_long() == Some(name))?;
        self.flag(arg).map(OsString::from).or_else(|| variable(arg)).map(PathBuf::from)
    }

    /// The value of a secret that a file gives: one named by a flag, by a variable, or by the file of
    /// settings, in this order. Neither may be given in two forms at once.
    fn secret(
        &self,
        arg: &Arg,
        name: &str,
        settings: &BTreeMap<String, String>,
        config: Option<&Path>,
    ) -> Result<Option<(String, PathBuf)>, Failure> {
        let name_of_file = format!("{name}-file");
        let file = path_arg(&name_of_file, String::new());
        let (by_flag, file_by_flag) = (self.flag(arg), self.flag(&file));
        one_of(by_flag, file_by_flag, &format!("--{name}"), &format!("--{name_of_file}"))?;
        let (by_variable, file_by_variable) = (variable(arg), variable(&file));
        let variables = [variable_of(name), variable_of(&name_of_file)];
        one_of(by_variable.as_ref(), file_by_variable.as_ref(), &variables[0], &variables[1])?;
        let (by_setting, file_by_setting) = (settings.get(name), settings.get(&name_of_file));
        one_of(by_setting, file_by_setting, name, &name_of_file)?;
        if by_flag.is_some() {
            return Ok(None);
        }
        if let Some(path) = file_by_flag {
            return read_secret(PathBuf::from(path)).map(Some);
        }
        if by_variable.is_some() {
            return Ok(None);
        }
        if let Some(path) = file_by_variable {
            return read_secret(PathBuf::from(path)).map(Some);
        }
        match (by_setting, file_by_setting, config) {
            (Some(value), _, Some(config)) => Ok(Some((value.clone(), config.to_owned()))),
            (None, Some(path), _) => read_secret(PathBuf::from(path)).map(Some),
            _ => Ok(None),
        }
    }
}

/// Whether this names a file, and a variable gives what the file would hold.
fn has_variable_of_its_content(name: &str) -> bool {
    name.strip_suffix("-file").is_some_and(|content| env::var_os(variable_of(content)).is_some())
}

fn variable(arg: &Arg) -> Option<OsString> {
    arg.get_env().and_then(env::var_os)
}

fn one_of<A, B>(
    one: Option<A>,
    other: Option<B>,
    first: &str,
    second: &str,
) -> Result<(), Failure> {
    if one.is_some() && other.is_some() {
        return Err(Failure::usage(format!(
            "both {first} and {second} are given; give one of them"
        )));
    }
    Ok(())
}

fn read_secret(path: PathBuf) -> Result<(String, PathBuf), Failure> {
    let text = config_file::text(&path)
        .map_err(|error| Failure::runtime(format!("cannot read {}: {error}", path.display())))?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok((line.strip_suffix('\r').unwrap_or(line).to_owned(), path))
}
