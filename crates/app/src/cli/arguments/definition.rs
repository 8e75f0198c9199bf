//! What files add to clap's definition, and what is read from it.

use std::{
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString},
};

use clap::{
    Arg, ArgAction, Command,
    builder::{Resettable, ValueParser},
};

/// The flag that names the file of settings.
pub(super) const CONFIG: &str = "config";

/// Gives each command that has a setting of `serve` the flag `--config`, and each secret its `--NAME-file`.
pub(crate) fn with_files(command: Command) -> Command {
    let settings = settings(&command);
    with_files_for(command, &settings)
}

fn with_files_for(command: Command, settings: &BTreeMap<String, bool>) -> Command {
    let flags: Vec<_> = command.get_arguments().filter_map(Arg::get_long).collect();
    let has_settings = flags.iter().any(|flag| settings.contains_key(*flag));
    let files: Vec<_> = secret_args(&command).filter_map(file_of_secret).collect();
    let mut command = command.args(files);
    if has_settings {
        let help =
            "A TOML file of settings: its keys are flags of serve. Flags and variables outweigh it";
        command = command.arg(path_arg(CONFIG, help.to_owned()).env(variable_of(CONFIG)));
    }
    let command = command.mut_args(without_empty_variable);
    command.mut_subcommands(|inner| with_files_for(inner, settings))
}

/// The argument that names a file with the value of `secret`. It has a variable if `secret` has one.
pub(super) fn file_of_secret(secret: &Arg) -> Option<Arg> {
    let secret_name = secret.get_long()?;
    let name = format!("{secret_name}-file");
    let help = format!("A file that holds the value of --{secret_name}, which may have a password");
    let arg = path_arg(&name, help);
    Some(if secret.get_env().is_some() { arg.env(variable_of(&name)) } else { arg })
}

fn path_arg(name: &str, help: String) -> Arg {
    let arg = Arg::new(name.to_owned()).long(name.to_owned()).value_name("FILE");
    arg.value_parser(ValueParser::path_buf()).help(help)
}

/// A variable that is set to nothing counts as not set.
fn without_empty_variable(arg: Arg) -> Arg {
    let is_empty = arg.get_env().and_then(env::var_os).is_some_and(|value| value.is_empty());
    if is_empty { arg.env(Resettable::Reset) } else { arg }
}

/// The value of an environment variable that is set, and not to nothing.
pub(crate) fn variable(name: impl AsRef<OsStr>) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// The environment variable named after a flag: `--header-timeout`, `PETSTORE_HEADER_TIMEOUT`.
pub(crate) fn variable_of(flag: &str) -> String {
    let words = flag.trim_start_matches('-').replace('-', "_");
    format!("PETSTORE_{}", words.to_ascii_uppercase())
}

/// The flags of `serve`, which are the keys of the file, and whether each takes several values.
pub(super) fn settings(root: &Command) -> BTreeMap<String, bool> {
    let serve = root.find_subcommand("serve").into_iter();
    let flags = serve.flat_map(Command::get_arguments).filter_map(|arg| {
        let name = arg.get_long().filter(|name| *name != CONFIG)?;
        Some((name.to_owned(), matches!(arg.get_action(), ArgAction::Append)))
    });
    flags.collect()
}

/// The flags whose values may hold a password.
pub(crate) fn secrets(command: &Command) -> impl Iterator<Item = &str> {
    secret_args(command).filter_map(Arg::get_long)
}

/// Each of them says so by keeping its value out of `--help`, also one that has no variable.
fn secret_args(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| arg.is_hide_env_values_set())
}

/// The command that the words name, and how many words that takes.
pub(crate) fn command_of<'a>(words: &[OsString], root: &'a Command) -> (Vec<&'a Command>, usize) {
    let mut path = vec![root];
    for word in words.iter().skip(1) {
        let found = path.last().and_then(|command| command.find_subcommand(word));
        let Some(found) = found else { break };
        path.push(found);
    }
    let length = path.len();
    (path, length)
}
