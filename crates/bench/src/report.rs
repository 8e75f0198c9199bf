//! What a section of the benchmark found, and the places it is written to.

use std::{
    fmt::Write as _,
    fs::{self, OpenOptions},
    io::Write as _,
    path::Path,
};

use petstore_bench::table::Table;
use serde_json::Value;

use crate::{
    console::say,
    failure::{Context as _, Failure, Outcome},
};

/// One table with what belongs to it.
#[derive(Debug)]
pub(crate) struct Report {
    /// Names the place in the document: `<!-- begin: NAME -->`.
    pub(crate) name: &'static str,
    pub(crate) title: String,
    pub(crate) table: Table,
    /// The rows with all their numbers, for programs.
    pub(crate) rows: Vec<Value>,
    /// Sentences below the table.
    pub(crate) notes: Vec<String>,
}

impl Report {
    pub(crate) fn print(&self) {
        say(format_args!("\n{}\n", self.title));
        say(self.table.aligned());
        for note in &self.notes {
            say(note);
        }
    }

    /// Appends the rows to a file of JSON Lines.
    pub(crate) fn append_to(&self, file: &Path) -> Outcome<()> {
        let shown = file.display();
        let opened = OpenOptions::new().create(true).append(true).open(file);
        let mut opened = opened.cannot(format_args!("open {shown}"))?;
        for row in &self.rows {
            let mut row = row.clone();
            row["section"] = self.name.into();
            writeln!(opened, "{row}").cannot(format_args!("write {shown}"))?;
        }
        Ok(())
    }

    /// Writes the table and the notes between this section's marks in a document.
    /// If `charts`, a folder below the document's own, has a chart of it, that is shown, too.
    pub(crate) fn write_into(
        &self,
        document: &Path,
        charts: Option<&Path>,
        machine: &str,
    ) -> Outcome<()> {
        let shown = document.display();
        let text = fs::read_to_string(document).cannot(format_args!("read {shown}"))?;
        let mut content = format!("{}\n\n{}", self.title, self.table.markdown());
        if let Some(chart) = charts.and_then(|folder| self.chart(document, folder)) {
            let _ = write!(content, "\n![{}]({chart})\n", self.title);
        }
        for note in &self.notes {
            let _ = write!(content, "\n{note}\n");
        }
        let _ = write!(content, "\n{machine}\n");
        let text = replace(&text, self.name, &content)
            .ok_or_else(|| Failure::new(format!("{shown} has no marks for '{}'", self.name)))?;
        fs::write(document, text).cannot(format_args!("write {shown}"))
    }

    /// Where the chart is, as the document sees it.
    fn chart(&self, document: &Path, folder: &Path) -> Option<String> {
        let file = folder.join(self.name).with_extension("svg");
        let seen = file.strip_prefix(document.parent()?).ok().filter(|_| file.exists())?;
        Some(seen.display().to_string())
    }
}

/// The document with `content` between the marks of `name`.
fn replace(document: &str, name: &str, content: &str) -> Option<String> {
    let begin = format!("<!-- begin: {name} -->");
    let end = format!("<!-- end: {name} -->");
    let (before, rest) = document.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n\n{content}\n{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::replace;

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let document = "a\n<!-- begin: x -->\nold\n<!-- end: x -->\nb\n";
        let new = replace(document, "x", "new\n").unwrap();
        assert_eq!(new, "a\n<!-- begin: x -->\n\nnew\n\n<!-- end: x -->\nb\n");
        assert_eq!(replace(&new, "x", "new\n").unwrap(), new);
        assert_eq!(replace(document, "y", "new"), None);
    }
}
