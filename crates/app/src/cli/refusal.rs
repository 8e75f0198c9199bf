//! What is wrong with a command line, in one line.

use clap::error::{ContextKind, ContextValue};

use super::arguments::{Arguments, command_of, variable, variable_of};
use crate::failure::{quotable, quotable_path};

/// Condenses clap's several lines: the message, its tips, and where the help is.
pub(super) fn one_line(error: clap::Error, arguments: &Arguments, root: &clap::Command) -> String {
    // Only a definition that is built knows how its arguments are shown.
    let mut root = root.clone();
    root.build();
    let (path, _) = command_of(&arguments.words, &root);
    let error = with_harmless_quotes(error, &path);
    let message = in_one_line(&error.render().to_string());
    let message = naming_the_source(message, &error, arguments);
    let names = path.iter().map(|command| command.get_name()).collect::<Vec<_>>().join(" ");
    format!("{message}; try '{names} --help'")
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

/// The error, where what it quotes neither breaks the line nor gives a password away. The value of an argument
/// that may hold one is never quoted.
fn with_harmless_quotes(mut error: clap::Error, path: &[&clap::Command]) -> clap::Error {
    let arg = string_of(&error, ContextKind::InvalidArg);
    let args = path.iter().flat_map(|command| command.get_arguments());
    let is_secret = args
        .filter(|known| known.is_hide_env_values_set())
        .any(|known| Some(known.to_string().as_str()) == arg);
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

/// A value that came from a file or the environment is reported by that, not by a flag that was not
/// written.
fn naming_the_source(message: String, error: &clap::Error, arguments: &Arguments) -> String {
    let Some(flag) = string_of(error, ContextKind::InvalidArg) else { return message };
    let Some(name) = flag.split_whitespace().next().filter(|name| name.starts_with("--")) else {
        return message;
    };
    let bare = name.trim_start_matches('-');
    if let Some(file) = arguments.origins.get(bare) {
        let source = format!("'{bare}' in {}", quotable_path(file));
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

fn string_of(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}
