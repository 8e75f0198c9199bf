//! The words of a command line, completed by what files give.
//!
//! clap's definition is the one declaration of each setting. The flags of `serve` have variables, with the same
//! meaning wherever a command shares the flag; what only another command has is given by a flag alone. The keys of the file of settings are the names of
//! `serve`'s flags. What a file gives, and neither a flag nor a variable, is put among the words as a flag. So
//! every value passes the same parser, wherever it comes from.
//!
//! An argument whose value may hold a password, so that `--help` hides it, has a second one, `--NAME-file`,
//! which names a file that holds the value.

mod definition;
mod given;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use clap::{Arg, ArgAction, Command};

pub(crate) use self::definition::variable;
pub(super) use self::definition::{command_of, secrets, variable_of, with_files};
use self::{
    definition::{CONFIG, settings},
    given::{Given, has_variable_of_its_content},
};
use super::config_file;
use crate::failure::Failure;

/// The words, and which of them came from a file.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(super) words: Vec<OsString>,
    /// By the name of the flag, without dashes: the file.
    pub(super) origins: BTreeMap<String, PathBuf>,
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
            if let Some((values, origin)) = source {
                for value in values {
                    completion.add(arg, name, &value, &origin)?;
                }
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
    fn add(&mut self, arg: &Arg, name: &str, value: &str, origin: &Path) -> Result<(), Failure> {
        match (arg.get_action(), value) {
            (ArgAction::SetTrue, "true") => self.words.push(format!("--{name}").into()),
            (ArgAction::SetTrue, "false") => {}
            (ArgAction::SetTrue, _) => {
                let file = origin.display();
                return Err(Failure::usage(format!("{file}: '{name}' must be true or false")));
            }
            _ => self.words.push(format!("--{name}={value}").into()),
        }
        self.origins.insert(name.to_owned(), origin.to_owned());
        Ok(())
    }
}
