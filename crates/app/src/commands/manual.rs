//! The commands `completions` and `man`: the files that packages install beside the binary.

use std::{fs, io, path::Path};

use clap_complete::Shell;
use clap_mangen::Man;

use crate::system::{Console, Failure, Output as _, quotable_path};

/// The name of the program, whatever its file is called.
const NAME: &str = "petstore";
/// The source in the last line of each manual page.
const SOURCE: &str = concat!("petstore ", env!("CARGO_PKG_VERSION"));
/// The title in the first line of each manual page.
const MANUAL: &str = "petstore Manual";
/// The date of each manual page: the date of the release.
const DATE: &str = "2026-11-26";
/// The heading of `clap_mangen` for the text after the options.
const EXTRA: &str = ".SH EXTRA\nExamples:\n";
const EXIT_STATUS: &str = ".SH EXIT STATUS\n.TP\n0\nSuccess; for petstore serve, also a stop by one signal.\n.TP\n1\n\
     A failure, with one line on standard error.\n.TP\n2\nWrong usage, or a setting that is not valid.\n";
const EXIT_STATUS_OF_SERVE: &str = ".TP\n78\nAn unusable store, which a restart does not change.\n";
const ENVIRONMENT: &str = ".SH ENVIRONMENT\nEach option above shows its environment variable, if it has one.\n.TP\n.B PETSTORE_API_KEY\n\
     One more API key of the service, of at least 16 characters; it is never stored or logged.\n";
const FILES: &str = ".SH FILES\n.TP\n.I petstore.db\nThe default store, with\n.I petstore.db\\-wal\nand\n\
     .I petstore.db\\-shm\nwhile it is open.\n.TP\n.I /etc/petstore/petstore.env\nThe settings of the service that a \
     package installs.\n.TP\n.I /usr/share/doc/petstore/OPERATING.md\nThe guide for operators.\n";

/// Prints the completions of a shell.
pub(crate) fn completions(definition: &clap::Command, shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut definition.clone(), NAME, &mut script);
    Console.show(&String::from_utf8_lossy(&script))
}

/// Writes the manual pages into an existing folder.
pub(crate) fn pages(definition: &clap::Command, folder: &Path) -> Result<(), Failure> {
    let mut definition = definition.clone().disable_help_subcommand(true);
    definition.build();
    let cannot = format!("cannot write manual pages into {}", quotable_path(folder));
    write_pages(&definition, folder).map_err(Failure::context(cannot))
}

/// Writes the page of `command` and the pages of its subcommands.
fn write_pages(command: &clap::Command, folder: &Path) -> io::Result<()> {
    let inner: Vec<_> = command.get_subcommands().filter(|inner| !inner.is_hide_set()).collect();
    for inner in &inner {
        write_pages(inner, folder)?;
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    let page = Man::new(command.clone().override_usage(usage));
    let page = page.date(DATE).source(SOURCE).manual(MANUAL);
    let mut text = Vec::new();
    page.render(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let name = command.get_display_name().unwrap_or(NAME);
    let mut others: Vec<_> = inner.iter().filter_map(|inner| inner.get_display_name()).collect();
    if let Some((parent, _)) = name.rsplit_once('-') {
        others.insert(0, parent);
    }
    let exit_status = if name.ends_with("-serve") { EXIT_STATUS_OF_SERVE } else { "" };
    fs::write(folder.join(page.get_filename()), complete(&text, exit_status, &others))
}

/// Returns `page` with bulleted lists, and with sections in place of the text after the options. `others` are the names
/// of the pages for SEE ALSO.
fn complete(page: &str, exit_status: &str, others: &[&str]) -> String {
    let page = page.replace("\n\\- ", "\n.br\n\\(bu ").replace(".br\n\n.br\n", ".sp\n");
    let (options, after) = page.split_once(EXTRA).unwrap_or((&page, ""));
    let after = after.split(".SH VERSION").next().unwrap_or_default().trim_end();
    let (examples, notes) = after.split_once("\n\n").unwrap_or((after, ""));
    let notes = notes.replace("\n\n", "\n.PP\n");
    let notes = if notes.is_empty() { notes } else { format!(".SH NOTES\n{notes}\n") };
    let others: Vec<_> = others.iter().map(|name| format!(".BR {name} (1)\n")).collect();
    format!(
        "{options}{EXIT_STATUS}{exit_status}{ENVIRONMENT}{FILES}.SH EXAMPLES\n.nf\n{examples}\n.fi\n{notes}.SH SEE \
         ALSO\n{}",
        others.concat()
    )
}
