//! The commands `completions` and `man`: what packages install beside the binary.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::Args;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::system::{
    console::{Console, Output as _},
    failure::{Failure, quotable_path},
};

/// The name of the program, whatever its file is called.
const NAME: &str = "petstore";
/// The last line of each manual page: what it belongs to.
const SOURCE: &str = concat!("petstore ", env!("CARGO_PKG_VERSION"));
/// The first line of each, in the middle.
const MANUAL: &str = "petstore Manual";
/// How `clap_mangen` begins the last part of a `--help`.
const EXTRA: &str = ".SH EXTRA\nExamples:\n";

/// The flags of `completions`.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    pub(crate) shell: Shell,
}

/// The flags of `man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder for the pages, which exists: petstore.1, petstore-serve.1 and so on.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}

/// Prints the completions of a shell.
pub(crate) fn completions(
    definition: &clap::Command,
    args: CompletionsArgs,
) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut definition.clone(), NAME, &mut script);
    let script = String::from_utf8(script).map_err(Failure::runtime)?;
    Console.print(&script)
}

/// Writes the manual pages into a folder that exists.
pub(crate) fn pages(definition: &clap::Command, args: &ManArgs) -> Result<(), Failure> {
    let mut definition = definition.clone().disable_help_subcommand(true);
    definition.build();
    write_pages(&definition, &args.folder).map_err(|error| {
        Failure::runtime(format!(
            "cannot write manual pages into {}: {error}",
            quotable_path(&args.folder)
        ))
    })
}

/// Writes the page of `command`, and those of its own commands.
fn write_pages(command: &clap::Command, folder: &Path) -> io::Result<()> {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        write_pages(inner, folder)?;
    }
    let page = Man::new(command.clone()).source(SOURCE).manual(MANUAL);
    let mut text = Vec::new();
    page.render(&mut text)?;
    let text = String::from_utf8(text).map_err(io::Error::other)?;
    fs::write(folder.join(page.get_filename()), with_examples(&text))
}

/// Returns `page` with its last part under the usual name. Lines that are indented there stay as they are, others are filled.
fn with_examples(page: &str) -> String {
    let Some((options, examples)) = page.split_once(EXTRA) else { return page.to_owned() };
    let mut text = format!("{options}.SH EXAMPLES\n");
    let mut verbatim = false;
    for line in examples.lines() {
        let indented = line.starts_with(' ');
        if indented != verbatim && !line.is_empty() {
            text.push_str(if indented { ".nf\n" } else { ".fi\n" });
            verbatim = indented;
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}
