//! Errors of the command line, condensed into one line.

use clap::{
    Arg, Error,
    error::{ContextKind, ContextValue},
};

use super::Sources;
use crate::system::quotable;

/// Flags and subcommands that users of other programs may try, and petstore's name for each.
const HINTS: [(&str, &str); 5] = [
    ("petstore serve --port", "'--listen ADDRESS:PORT'"),
    ("petstore serve -p", "'--listen ADDRESS:PORT'"),
    ("petstore keys delete", "'keys revoke'"),
    ("petstore keys rotate", "'keys roll'"),
    ("petstore keys show", "'keys list'"),
];

/// Returns clap's message and its tips as one line, with a hint at the help. If the refused value comes from an
/// environment variable or a file, the message names that source instead of the flag.
pub(super) fn one_line(error: Error, sources: &Sources) -> String {
    let command = &sources.command;
    let invalid = string_of(&error, ContextKind::InvalidArg).unwrap_or_default().to_owned();
    let arg = command.get_arguments().find(|arg| arg.to_string() == invalid);
    let place = arg.and_then(Arg::get_long).and_then(|name| sources.places.get(name));
    let names = command.get_bin_name().unwrap_or_default();
    let word = string_of(&error, ContextKind::InvalidSubcommand).unwrap_or(&invalid);
    let word = format!("{names} {word}");
    let hint = HINTS.iter().find(|(guess, _)| *guess == word);
    let error = with_harmless_quotes(error, arg.is_some_and(Arg::is_hide_env_values_set));
    let hint = hint.map_or(String::new(), |(_, right)| format!("; did you mean {right}?"));
    let mut message = message(&error);
    if let Some(place) = place {
        message = message.replace(&format!("'{invalid}'"), place);
    }
    format!("{message}{hint}; try '{names} --help'")
}

/// Returns the paragraphs before the usage, joined.
fn message(error: &Error) -> String {
    let rendered = error.render().to_string();
    let text = rendered.strip_prefix("error: ").unwrap_or(&rendered);
    text.split("\n\n")
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .collect::<Vec<_>>()
        .join("; ")
}

/// Escapes the text that the error quotes, and replaces a possible password by `…`. Never quotes the value of a secret.
fn with_harmless_quotes(mut error: Error, is_secret: bool) -> Error {
    for kind in [ContextKind::InvalidValue, ContextKind::InvalidArg, ContextKind::InvalidSubcommand]
    {
        let Some(text) = string_of(&error, kind) else { continue };
        let hidden = is_secret && kind == ContextKind::InvalidValue;
        let shown = if hidden { "…".to_owned() } else { quotable(text) };
        if shown != text {
            error.insert(kind, ContextValue::String(shown));
            // A tip would repeat the text as it was given.
            error.remove(ContextKind::Suggested);
        }
    }
    error
}

fn string_of(error: &Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}
