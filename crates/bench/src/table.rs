//! Tables: aligned for a terminal, and in Markdown.

/// A table of texts. The first column is aligned to the left, the others to the right.
#[derive(Debug, Default)]
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    #[must_use]
    pub fn new(header: &[&str]) -> Self {
        Self { header: header.iter().map(|&name| name.to_owned()).collect(), rows: Vec::new() }
    }

    /// Adds a row, which has as many cells as the header.
    pub fn add(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    /// Lines of the same width.
    #[must_use]
    pub fn aligned(&self) -> String {
        let rule = |width: &usize| "-".repeat(*width);
        let widths = self.widths();
        let rule: Vec<String> = widths.iter().map(rule).collect();
        let lines = [&self.header, &rule].into_iter().chain(&self.rows);
        lines.map(|row| line(row, &widths, "  ").trim_end().to_owned() + "\n").collect()
    }

    /// The same for a Markdown file.
    #[must_use]
    pub fn markdown(&self) -> String {
        let widths = self.widths();
        let rule = |(at, width): (usize, &usize)| {
            if at == 0 { "-".repeat(*width) } else { "-".repeat(width - 1) + ":" }
        };
        let rule: Vec<String> = widths.iter().enumerate().map(rule).collect();
        let lines = [&self.header, &rule].into_iter().chain(&self.rows);
        lines
            .flat_map(|row| ["| ".to_owned(), line(row, &widths, " | "), " |\n".to_owned()])
            .collect()
    }

    fn widths(&self) -> Vec<usize> {
        let rows = || self.rows.iter().chain([&self.header]);
        let width = |at: usize| rows().filter_map(|row| Some(row.get(at)?.chars().count())).max();
        // A rule of Markdown needs three dashes.
        (0..self.header.len()).map(|at| width(at).unwrap_or(0).max(3)).collect()
    }
}

fn line(row: &[String], widths: &[usize], between: &str) -> String {
    let cells = row.iter().zip(widths).enumerate().map(|(at, (cell, &width))| {
        if at == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
    });
    cells.collect::<Vec<_>>().join(between)
}

/// A whole number with commas: `1,234,567`.
#[must_use]
pub fn whole(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Microseconds as people say them.
#[must_use]
pub fn micros(micros: f64) -> String {
    match micros {
        _ if micros < 1_000.0 => format!("{micros:.0} µs"),
        _ if micros < 1_000_000.0 => format!("{:.1} ms", micros / 1e3),
        _ => format!("{:.2} s", micros / 1e6),
    }
}

/// KiB as MiB.
#[must_use]
pub fn mebibytes(kib: u64) -> String {
    format!("{:.1} MiB", kib as f64 / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::{Table, mebibytes, micros, whole};

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(&["name", "req/s"]);
        table.add(vec!["a".into(), "1,000".into()]);
        table.add(vec!["Zoë 12".into(), "7".into()]);
        let aligned = "name    req/s\n------  -----\na       1,000\nZoë 12      7\n";
        assert_eq!(table.aligned(), aligned);
        let markdown =
            "| name   | req/s |\n| ------ | ----: |\n| a      | 1,000 |\n| Zoë 12 |     7 |\n";
        assert_eq!(table.markdown(), markdown);
    }

    #[test]
    fn numbers_are_written_for_people() {
        let numbers = [0.4, 999.0, 1000.0, 1_234_567.0].map(whole);
        assert_eq!(numbers, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([12.0, 1500.0, 2.5e6].map(micros), ["12 µs", "1.5 ms", "2.50 s"]);
        assert_eq!(mebibytes(1536), "1.5 MiB");
    }
}
