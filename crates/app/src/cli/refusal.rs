//! What is wrong with a command line, in one line.

use clap::error::{ContextKind, ContextValue};

use super::arguments::{Arguments, command_of, secrets, variable, variable_of};
use crate::failure::one_line_of;

/// Condenses clap's several lines: the message, its tips, and where the help is.
pub(super) fn one_line(error: &clap::Error, arguments: &Arguments, root: &clap::Command) -> String {
    let (path, _) = command_of(&arguments.words, root);
    let message = in_one_line(&with_harmless_quotes(error, path.last().unwrap_or(&root)));
    let message = naming_the_source(message, error, arguments);
    // The commands as far as they were written, so that the help fits.
    let path: Vec<_> = path.iter().map(|command| command.get_name()).collect();
    format!("{message}; try '{} --help'", path.join(" "))
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
fn with_harmless_quotes(error: &clap::Error, command: &clap::Command) -> String {
    let mut text = error.render().to_string();
    if let (Some(flag), Some(value)) = (flag_of(error), string_of(error, ContextKind::InvalidValue))
        && secrets(command).any(|secret| flag.strip_prefix("--") == Some(secret))
    {
        // Mistyped, a URL may have its password anywhere.
        text = text.replacen(&format!(" '{value}'"), "", 1);
    }
    let quoted =
        [ContextKind::InvalidValue, ContextKind::InvalidArg, ContextKind::InvalidSubcommand];
    let values = quoted.into_iter().filter_map(|kind| string_of(error, kind));
    values.fold(text, |text, value| {
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

/// A value that came from a file or the environment is reported by that, not by a flag that was not
/// written.
fn naming_the_source(message: String, error: &clap::Error, arguments: &Arguments) -> String {
    let (Some(flag), Some(name)) = (string_of(error, ContextKind::InvalidArg), flag_of(error))
    else {
        return message;
    };
    let bare = name.trim_start_matches('-');
    if let Some(file) = arguments.origins.get(bare) {
        let source = format!("'{bare}' in {}", one_line_of(&file.display().to_string()));
        return message.replace(&format!("'{flag}'"), &source);
    }
    let assigned = format!("{name}=");
    let mut written = arguments.words.iter().map(|arg| arg.to_string_lossy());
    let of_flag = variable_of(name);
    if written.any(|arg| arg == name || arg.starts_with(&assigned)) || variable(&of_flag).is_none()
    {
        return message;
    }
    message.replace(&format!("'{flag}'"), &of_flag)
}

/// The flag that is wrong, as it is written: `--store`.
fn flag_of(error: &clap::Error) -> Option<&str> {
    let shown = string_of(error, ContextKind::InvalidArg)?;
    shown.split_whitespace().next().filter(|name| name.starts_with("--"))
}

fn string_of(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}
