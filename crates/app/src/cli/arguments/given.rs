//! What the user gave by flags and variables, and secrets that are in files.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use clap::{Arg, Command};

use super::definition::{file_of_secret, variable, variable_of};
use crate::{
    cli::config_file::{self, Values},
    failure::{Failure, quotable_path},
};

/// What the user gave by flags and variables.
pub(super) struct Given<'a> {
    pub(super) flags: &'a [OsString],
}

impl Given<'_> {
    /// Whether a flag or a variable gives the argument.
    pub(super) fn has(&self, arg: &Arg) -> bool {
        self.flag(arg).is_some() || variable_for(arg).is_some()
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
    pub(super) fn path(&self, command: &Command, name: &str) -> Option<PathBuf> {
        let arg = command.get_arguments().find(|arg| arg.get_long() == Some(name))?;
        self.flag(arg).map(OsString::from).or_else(|| variable_for(arg)).map(PathBuf::from)
    }

    /// The value of a secret that a file gives: one named by a flag, by a variable, or by the file of
    /// settings, in this order. Neither may be given in two forms at once.
    pub(super) fn secret(
        &self,
        arg: &Arg,
        name: &str,
        settings: &Values,
        config: Option<&Path>,
    ) -> Result<Option<(Vec<String>, PathBuf)>, Failure> {
        let name_of_file = format!("{name}-file");
        let Some(file) = file_of_secret(arg) else { return Ok(None) };
        let (by_flag, file_by_flag) = (self.flag(arg), self.flag(&file));
        let both = by_flag.is_some() && file_by_flag.is_some();
        refuse_both(both, &format!("--{name}"), &format!("--{name_of_file}"))?;
        let (by_variable, file_by_variable) = (variable_for(arg), variable_for(&file));
        let both = by_variable.is_some() && file_by_variable.is_some();
        refuse_both(both, &variable_of(name), &variable_of(&name_of_file))?;
        let (by_setting, file_by_setting) = (settings.get(name), settings.get(&name_of_file));
        refuse_both(by_setting.is_some() && file_by_setting.is_some(), name, &name_of_file)?;
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
            (None, Some(path), _) => read_secret(PathBuf::from(path.concat())).map(Some),
            _ => Ok(None),
        }
    }
}

/// Whether this names a file, and a variable gives what the file would hold.
pub(super) fn has_variable_of_its_content(name: &str) -> bool {
    name.strip_suffix("-file").is_some_and(|content| variable(variable_of(content)).is_some())
}

fn variable_for(arg: &Arg) -> Option<OsString> {
    arg.get_env().and_then(variable)
}

fn refuse_both(both: bool, first: &str, second: &str) -> Result<(), Failure> {
    if both {
        return Err(Failure::usage(format!(
            "both {first} and {second} are given; give one of them"
        )));
    }
    Ok(())
}

fn read_secret(path: PathBuf) -> Result<(Vec<String>, PathBuf), Failure> {
    let text = config_file::text(&path).map_err(|error| {
        Failure::runtime(format!("cannot read {}: {error}", quotable_path(&path)))
    })?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok((vec![line.strip_suffix('\r').unwrap_or(line).to_owned()], path))
}
