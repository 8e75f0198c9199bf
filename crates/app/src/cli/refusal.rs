//! What is wrong with a command line, in one line.

use std::{env, ffi::OsString};

use clap::error::{ContextKind, ContextValue};

use crate::failure::one_line_of;

/// Condenses clap's several lines: the message, its tips, and where the help is.
pub(super) fn one_line(error: &clap::Error, args: &[OsString], root: &clap::Command) -> String {
    let message = in_one_line(&with_harmless_quotes(error));
    let message = naming_the_variable(message, error, args);
    format!("{message}; try '{} --help'", command_path(args, root))
}

/// Keeps the paragraphs before the usage, joined.
fn in_one_line(rendered: &str) -> String {
    let text = rendered.strip_prefix("error: ").unwrap_or(rendered);
    text.split("\n\n")
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .collect::<Vec<_>>()
        .join("; ")
}

/// The rendered error, where what it quotes neither breaks the line nor gives a password away.
fn with_harmless_quotes(error: &clap::Error) -> String {
    let quoted =
        [ContextKind::InvalidValue, ContextKind::InvalidArg, ContextKind::InvalidSubcommand];
    let values = quoted.into_iter().filter_map(|kind| string_of(error, kind));
    values.fold(error.render().to_string(), |text, value| {
        let harmless = one_line_of(&without_password(value));
        if harmless == value { text } else { text.replace(value, &harmless) }
    })
}

/// Hides the user and the password of a URL.
fn without_password(value: &str) -> String {
    value
        .split_once("://")
        .and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?.1)))
        .map_or_else(|| value.to_owned(), |(scheme, address)| format!("{scheme}://…@{address}"))
}

/// A value that came from the environment is reported by its variable, not by a flag that was
/// not written.
fn naming_the_variable(message: String, error: &clap::Error, args: &[OsString]) -> String {
    let Some(flag) = string_of(error, ContextKind::InvalidArg) else { return message };
    let Some(name) = flag.split_whitespace().next().filter(|name| name.starts_with("--")) else {
        return message;
    };
    let assigned = format!("{name}=");
    let written = args.iter().map(|arg| arg.to_string_lossy());
    let variable = variable_of(name);
    if written.into_iter().any(|arg| arg == name || arg.starts_with(&assigned))
        || env::var_os(&variable).is_none()
    {
        return message;
    }
    message.replace(&format!("'{flag}'"), &variable)
}

/// The environment variable named after a flag: `--header-timeout`, `PETSTORE_HEADER_TIMEOUT`.
pub(super) fn variable_of(flag: &str) -> String {
    let words = flag.trim_start_matches('-').replace('-', "_");
    format!("PETSTORE_{}", words.to_ascii_uppercase())
}

/// The commands as far as they were written, so that the help fits.
fn command_path(args: &[OsString], root: &clap::Command) -> String {
    let mut path = root.get_name().to_owned();
    let mut command = root;
    for arg in args.iter().skip(1) {
        let Some(found) = command.find_subcommand(arg) else { break };
        path = format!("{path} {}", found.get_name());
        command = found;
    }
    path
}

fn string_of(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}
