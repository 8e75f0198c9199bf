//! The code in the guides is the code that is compiled here.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::{fs, path::Path};

/// Every Rust snippet of a guide, each behind the file that its first line names:
/// ```` ```rust,file=docs/examples/… ````.
fn snippets(guide: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut lines = guide.lines();
    while let Some(line) = lines.next() {
        let Some(rest) = line.strip_prefix("```rust") else { continue };
        let file = rest.strip_prefix(",file=").unwrap_or_default().to_owned();
        let code: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
        found.push((file, code.join("\n")));
    }
    found
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.."))
}

/// Asserts that every snippet of the guide stands in the file that it names.
fn require_compiled(guide: &str) {
    let snippets = snippets(&fs::read_to_string(root().join(guide)).unwrap());
    assert!(!snippets.is_empty(), "{guide}");
    for (file, code) in snippets {
        assert!(!file.is_empty(), "{guide} does not say where this stands:\n{code}");
        let source = fs::read_to_string(root().join(&file)).unwrap();
        // Left out lines are marked by `…`.
        for part in code.split("…").map(|part| part.trim_matches(['\n', ' ', '/'])) {
            assert!(source.contains(part), "{guide}: not in {file}:\n{part}");
        }
    }
}

#[test]
fn every_snippet_of_the_guide_to_testing_is_compiled() {
    require_compiled("docs/TESTING.md");
}

#[test]
fn every_snippet_of_the_guide_to_adapters_is_compiled() {
    require_compiled("docs/ADAPTERS.md");
}

#[test]
fn a_snippet_is_what_stands_between_its_fences() {
    let guide = "text\n```rust,file=a.rs\nlet x;\nlet y;\n```\n```rust\nz\n```\n```sh\nno\n```\n";
    let found = snippets(guide);
    let expected = [("a.rs", "let x;\nlet y;"), ("", "z")];
    assert_eq!(found, expected.map(|(file, code)| (file.to_owned(), code.to_owned())));
}
