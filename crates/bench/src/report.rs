//! A table with notes, which is printed and written into a document.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use anyhow::{Context as _, Result};
use comfy_table::{CellAlignment, Table, presets::ASCII_MARKDOWN};

use crate::{build::workspace, console::say};

/// A table with notes.
#[derive(Debug)]
pub(crate) struct Report {
    /// The name in the markers of the document: `<!-- begin: NAME -->`.
    pub(crate) name: &'static str,
    pub(crate) header: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
    /// A paragraph below the table.
    pub(crate) note: String,
    /// The text after "profile" below the table, such as `dist`.
    pub(crate) built: &'static str,
}

impl Report {
    /// Prints the report as Markdown, and replaces the previous one in `document`.
    pub(crate) fn publish(&self, document: Option<&Path>) -> Result<()> {
        let text = self.markdown();
        say(format_args!("\n{text}"));
        let Some(path) = document else { return Ok(()) };
        let shown = path.display();
        let old = fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
        let new = replace(&old, self.name, &text)
            .with_context(|| format!("{shown} has no markers for '{}'", self.name))?;
        fs::write(path, new).with_context(|| format!("cannot write {shown}"))
    }

    fn markdown(&self) -> String {
        let mut table = Table::new();
        table.load_preset(ASCII_MARKDOWN).set_header(&self.header).add_rows(&self.rows);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        format!("{table}\n\n{}\n\n{}", self.note, provenance(self.built))
    }
}

/// Returns the document with `content` between the markers of `name`; `None` without these markers.
fn replace(document: &str, name: &str, content: &str) -> Option<String> {
    let begin = format!("<!-- begin: {name} -->");
    let end = format!("<!-- end: {name} -->");
    let (before, rest) = document.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n\n{content}\n\n{end}{after}"))
}

/// Returns one sentence about the machine, the date and the commit.
fn provenance(built: &str) -> String {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unknown model", |(_, model)| model.trim());
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let kernel = kernel.trim();
    let date = stdout_of("date", &["+%F"]);
    let commit = stdout_of("git", &["rev-parse", "--short", "HEAD"]);
    format!(
        "Measured on {date}, {processors} processors ({model}), Linux {kernel}, commit {commit}, \
         profile {built}."
    )
}

fn stdout_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(workspace()).output();
    let Ok(Output { status, stdout, .. }) = output else { return "unknown".to_owned() };
    if status.success() {
        String::from_utf8_lossy(&stdout).trim().to_owned()
    } else {
        "unknown".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::replace;

    #[test]
    fn only_the_text_between_the_markers_changes() {
        let document = "a\n<!-- begin: x -->\nold\n<!-- end: x -->\nb\n";
        let new = replace(document, "x", "new").unwrap();
        assert_eq!(new, "a\n<!-- begin: x -->\n\nnew\n\n<!-- end: x -->\nb\n");
        assert_eq!(replace(&new, "x", "new").unwrap(), new);
        assert_eq!(replace(document, "y", "new"), None);
    }
}
