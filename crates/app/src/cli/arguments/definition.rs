//! What files add to clap's definition, and what is read from it.

use std::ffi::OsString;

use clap::{Arg, Command, builder::ValueParser};

/// The flag that names the file of settings.
pub(super) const CONFIG: &str = "config";

/// Gives each command that has a setting of `serve` the flag `--config`, and each secret its `--NAME-file`.
pub(crate) fn with_files(command: Command) -> Command {
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

pub(super) fn path_arg(name: &str, help: String) -> Arg {
    let variable = variable_of(name);
    let arg = Arg::new(name.to_owned()).long(name.to_owned()).value_name("FILE").env(variable);
    arg.value_parser(ValueParser::path_buf()).help(help)
}

/// The environment variable named after a flag: `--header-timeout`, `PETSTORE_HEADER_TIMEOUT`.
pub(crate) fn variable_of(flag: &str) -> String {
    let words = flag.trim_start_matches('-').replace('-', "_");
    format!("PETSTORE_{}", words.to_ascii_uppercase())
}

/// The flags of `serve`, which are the keys of the file.
pub(super) fn settings(root: &Command) -> Vec<String> {
    let serve = root.find_subcommand("serve").into_iter();
    let flags = serve.flat_map(Command::get_arguments).filter_map(Arg::get_long);
    flags.filter(|flag| *flag != CONFIG).map(str::to_owned).collect()
}

/// The flags whose values may hold a password.
pub(crate) fn secrets(command: &Command) -> impl Iterator<Item = &str> {
    let secret = command.get_arguments().filter(|arg| arg.is_hide_env_values_set());
    secret.filter_map(Arg::get_long)
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
