use std::io::Write as _;

use super::{Batch, Source};
use crate::commands::records::Format::{self, Csv, Ndjson};

const GOOD: &str = "{\"name\":\"Rex\",\"categoryId\":1}\n";
const WITH_ID: &str = "{\"id\":5,\"name\":\"Tom\",\"categoryId\":1}\n";

/// The number of records, and the faults with the numbers of their lines.
type Read = (usize, Vec<(u64, String)>);

/// Reads a file in batches of `max` lines.
fn read(format: Format, text: &str, max: usize) -> Result<Read, String> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let mut source = Source::new(&file, format, ',')?;
    let (mut records, mut faults) = (0, Vec::new());
    while let Some(Batch { records: good, faults: bad, .. }) = source.next(max)? {
        records += good.len();
        faults.extend(bad);
    }
    Ok((records, faults))
}

#[test]
fn blank_lines_are_allowed_anywhere() {
    for (format, text) in [
        (Ndjson, format!("{GOOD}\n \r\n\n")),
        (Csv, "name,categoryId\n\n \r\nRex,1\n\n".to_owned()),
        // More blank lines than a batch has lines.
        (Ndjson, format!("\n\n\n\n\n{GOOD}")),
        (Csv, "\n\n\n\n\nname,categoryId\nRex,1\n".to_owned()),
    ] {
        assert_eq!(read(format, &text, 2), Ok((1, vec![])), "{text:?}");
    }
}

#[test]
fn a_fault_has_the_number_of_its_line_and_the_next_line_is_read() {
    let open_quote = "a quoted field must be quoted whole and end on its line, and a quote inside it must be doubled";
    for (format, text, good, line, fault) in [
        (Ndjson, format!("\n\nx\n\n{GOOD}"), 1, 3, "the line must be one JSON document"),
        (Csv, "name,categoryId\n\"Rex,1\nTom,2\n".to_owned(), 1, 2, open_quote),
        (Ndjson, format!("{}\n{GOOD}", "x".repeat(70_000)), 1, 1, "the line is longer than "),
        (Ndjson, format!("{GOOD}{WITH_ID}"), 1, 2, "`id`: is present, but earlier records"),
        (Ndjson, format!("{WITH_ID}{GOOD}"), 1, 2, "`id`: is missing, but earlier records"),
    ] {
        let (records, faults) = read(format, &text, 100).unwrap();
        assert_eq!((records, faults.len()), (good, 1), "{faults:?}");
        assert!(faults[0].0 == line && faults[0].1.starts_with(fault), "{faults:?}");
    }
}

#[test]
fn a_csv_file_without_a_valid_header_is_refused() {
    for (text, refusal) in [
        ("", "line 1: the file is empty"),
        ("name\nRex\n", "line 1: the column 'categoryId' is missing"),
        ("\n\n1,Rex,2,\n", "line 3: there is no field '1'"),
    ] {
        let refused = read(Csv, text, 100).unwrap_err();
        assert!(refused.starts_with(refusal), "{text:?}: {refused}");
    }
}
