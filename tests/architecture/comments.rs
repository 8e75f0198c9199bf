//! A comment begins with a subject, a verb or a noun phrase, never with a clause or "nobody".

use crate::{path, sources};

/// First words of comments that hide their subject. "What is kept" should read "The kept bytes".
const HIDING: [&str; 7] = ["What", "Whatever", "Whoever", "Whether", "Nobody", "Those", "That"];

/// Returns the comments that begin with one of [`HIDING`], with their line numbers.
fn hidden(source: &str) -> Vec<String> {
    let text = |line: &str| {
        let comment = line.trim_start().strip_prefix("//")?;
        Some(comment.trim_start_matches(['/', '!']).trim_start().to_owned())
    };
    let lines: Vec<_> = source.lines().map(text).collect();
    let mut faults = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let is_first = at == 0 || lines[at - 1].is_none();
        let Some(line) = line.as_ref().filter(|_| is_first) else { continue };
        let word = line.split(|char: char| !char.is_alphanumeric()).next();
        if word.is_some_and(|word| HIDING.contains(&word)) {
            faults.push(format!("{}: {line}", at + 1));
        }
    }
    faults
}

#[test]
fn every_comment_begins_with_its_subject() {
    let mut faults = Vec::new();
    for folder in ["crates", "docs", "tests"] {
        let sources = sources(&path(folder));
        assert!(!sources.is_empty(), "{folder} has no sources");
        for (file, source) in sources {
            faults.extend(hidden(&source).iter().map(|line| format!("{}:{line}", file.display())));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn a_comment_with_a_clause_at_its_beginning_is_reported() {
    for word in ["What is kept.", "Whether it ends.", "Nobody reads it.", "Those of keys."] {
        for comment in ["//", "    ///", "//!"] {
            let source = format!("fn f() {{}}\n{comment} {word}\n{comment} More.\n");
            assert_eq!(hidden(&source), [format!("2: {word}")]);
        }
    }
    let fine = "// The rest.\n// What is kept stays in the sentence.\nlet url = 1; // What\n";
    assert_eq!(hidden(fine), [""; 0]);
    assert_eq!(hidden("/// Whatsit is a name.\n"), [""; 0]);
}
