//! What is wrong with a command line, in one line.

use std::ffi::OsString;

use clap::{
    Arg, Command, Error,
    error::{ContextKind, ContextValue},
};

use super::values::{variable, variable_of};
use crate::failure::quotable;

/// Condenses clap's several lines: the message, its tips, and where the help is.
pub(super) fn one_line(error: Error, words: &[OsString], root: &Command) -> String {
    // Only a definition that is built knows how its arguments are shown.
    let mut root = root.clone();
    root.build();
    let mut path = vec![&root];
    for word in words.iter().skip(1) {
        let Some(found) = path.last().and_then(|command| command.find_subcommand(word)) else {
            break;
        };
        path.push(found);
    }
    let args = path.iter().flat_map(|command| command.get_arguments());
    let secrets: Vec<_> =
        args.filter(|arg| arg.is_hide_env_values_set()).map(ToString::to_string).collect();
    let arg = string_of(&error, ContextKind::InvalidArg);
    let is_secret = secrets.iter().any(|secret| Some(secret.as_str()) == arg);
    let error = with_harmless_quotes(error, is_secret);
    let message = naming_the_variable(message(&error), &error, words);
    let names = path.iter().map(|command| command.get_name()).collect::<Vec<_>>().join(" ");
    format!("{message}; try '{names} --help'")
}

/// Says why a value of `arg` is refused that `source` gives.
pub(super) fn of_value(error: Error, arg: &Arg, source: &str) -> String {
    let error = with_harmless_quotes(error, arg.is_hide_env_values_set());
    let message = message(&error);
    match string_of(&error, ContextKind::InvalidArg) {
        Some(flag) => message.replace(&format!("'{flag}'"), source),
        None => message,
    }
}

/// Joins the paragraphs before the usage.
fn message(error: &Error) -> String {
    let rendered = error.render().to_string();
    let text = rendered.strip_prefix("error: ").unwrap_or(&rendered);
    text.split("\n\n")
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .collect::<Vec<_>>()
        .join("; ")
}

/// Returns the error with quotes that neither break the line nor give a password away. The value of a secret is
/// never quoted.
fn with_harmless_quotes(mut error: Error, is_secret: bool) -> Error {
    for kind in [ContextKind::InvalidValue, ContextKind::InvalidArg, ContextKind::InvalidSubcommand]
    {
        let Some(text) = string_of(&error, kind) else { continue };
        let hidden = is_secret && kind == ContextKind::InvalidValue;
        let shown = if hidden { "…".to_owned() } else { quotable(text) };
        if shown != text {
            error.insert(kind, ContextValue::String(shown));
            // A tip repeats what it is about.
            error.remove(ContextKind::Suggested);
        }
    }
    error
}

/// Reports a value that came from the environment by its variable, not by a flag that was not written.
fn naming_the_variable(message: String, error: &Error, words: &[OsString]) -> String {
    let Some(flag) = string_of(error, ContextKind::InvalidArg) else { return message };
    let Some(name) = flag.split_whitespace().next().filter(|name| name.starts_with("--")) else {
        return message;
    };
    let assigned = format!("{name}=");
    let mut written = words.iter().map(|word| word.to_string_lossy());
    let variable_name = variable_of(name);
    if written.any(|word| word == name || word.starts_with(&assigned))
        || variable(&variable_name).is_none()
    {
        return message;
    }
    message.replace(&format!("'{flag}'"), &variable_name)
}

fn string_of(error: &Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}
