//! Text in columns.

/// A line for each row. Each column is as wide as its widest cell.
pub(crate) fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    rows.iter().map(|row| line(row, &widths)).collect()
}

fn line<const N: usize>(cells: &[String; N], widths: &[usize; N]) -> String {
    let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
    format!("{}\n", padded.collect::<Vec<_>>().join("  ").trim_end())
}
