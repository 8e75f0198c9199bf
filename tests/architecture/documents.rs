//! Checks of the documents: links, paths, Rust snippets, version, repository address, and commands without passwords.
//!
//! `.ci/documented.py` checks that the `cargo test` commands of the documents run tests, and that the tests that
//! GUARANTEES names exist.

use std::{fs, path::Path};

use crate::{path, text};

/// Returns the path of every Markdown file at the top, in `docs` and in `docs/deploy`.
fn documents() -> Vec<String> {
    let folders = ["", "docs", "docs/deploy"];
    let files = folders.iter().filter_map(|folder| fs::read_dir(path(folder)).ok()).flatten();
    let files = files.map(|entry| entry.unwrap().path());
    let documents = files.filter(|file| file.extension().is_some_and(|it| it == "md"));
    let relative = documents.map(|file| file.strip_prefix(path("")).unwrap().to_owned());
    relative.map(|file| file.to_str().unwrap().to_owned()).collect()
}

/// Returns a text without its code blocks.
fn prose(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

/// Returns the link targets of a text that lie in this repository.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://")).map(str::to_owned).collect()
}

/// Returns the anchors of the headings of a text.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let slug = |heading: &str| {
        let words = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        words.chars().filter(|char| char.is_alphanumeric() || "-_".contains(*char)).collect()
    };
    headings.map(slug).collect()
}

/// Returns the Rust snippets of a guide, each with the file that its first line names: ```` ```rust,file=docs/… ````.
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

#[test]
fn every_link_leads_somewhere() {
    let documents = documents();
    assert!(documents.contains(&"README.md".to_owned()) && documents.len() > 10, "{documents:?}");
    for document in documents {
        let folder = Path::new(&document).parent().unwrap();
        for link in links(&text(&document)) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { document.clone().into() } else { folder.join(file) };
            let target = path(target.to_str().unwrap());
            assert!(target.exists(), "{document}: {link} does not exist");
            let is_there =
                |target| anchors(&fs::read_to_string(target).unwrap()).contains(&anchor.to_owned());
            assert!(anchor.is_empty() || is_there(target), "{document}: {link} names no heading");
        }
    }
    assert_eq!(
        links("[a](b.md#c) [d](https://e)\n```sh\n[f](g)\n```\n![h](i.png)"),
        ["b.md#c", "i.png"]
    );
    assert_eq!(anchors("# The `a` b: c\ntext\n## D"), ["the-a-b-c", "d"]);
}

/// Returns the paths of this repository that a text quotes as code, except patterns and paths with placeholders.
fn paths(text: &str) -> Vec<String> {
    let prose = prose(text);
    let spans = prose.split('`').skip(1).step_by(2);
    let first = spans.filter_map(|span| span.split_whitespace().next());
    let roots = ["crates/", "tests/", "docs/", ".ci/", ".cargo/"];
    let named = first.filter(|word| roots.iter().any(|root| word.starts_with(root)));
    named.filter(|word| !word.contains(['{', '*', 'N'])).map(str::to_owned).collect()
}

/// Files other than manifests, each with the text around the version or the repository address that it must contain.
const RELEASED: [(&str, &str); 6] = [
    ("README.md", "\nVersion {version}."),
    ("README.md", "\nRepository: <{repository}>."),
    ("docs/deploy/kubernetes/petstore.yaml", "/petstore:{version}\n"),
    ("docs/deploy/container/Containerfile", "image.version=\"{version}\""),
    ("docs/deploy/container/Containerfile", "image.source=\"{repository}\""),
    ("docs/deploy/debian/changelog", "petstore ({version}-1) unstable"),
];

#[test]
fn every_place_has_the_version_and_the_repository_of_the_workspace() {
    for (file, place) in RELEASED {
        let place = place
            .replace("{version}", env!("CARGO_PKG_VERSION"))
            .replace("{repository}", env!("CARGO_PKG_REPOSITORY"));
        assert!(text(file).contains(&place), "{file} lacks {place:?}: run .ci/release version");
    }
}

#[test]
fn every_path_in_a_document_exists() {
    for document in documents() {
        for named in paths(&text(&document)) {
            // The guide for adapters names files of the skeleton.
            let skeleton = format!("docs/examples/skeleton/{named}");
            assert!(
                [&named, &skeleton].map(|it| path(it).exists()).contains(&true),
                "{document}: {named} does not exist"
            );
        }
    }
    assert_eq!(paths("`tests/a.rs` `tests/b run` `c/d` `crates/{e,f}`"), ["tests/a.rs", "tests/b"]);
}

#[test]
fn every_snippet_is_part_of_the_file_that_it_names() {
    for guide in ["docs/ADAPTERS.md", "docs/MOCKS.md"] {
        let snippets = snippets(&text(guide));
        assert!(!snippets.is_empty(), "{guide} has no snippet");
        for (file, code) in snippets {
            assert!(!file.is_empty(), "{guide} does not name the file of this snippet:\n{code}");
            let source = text(&file);
            // A `…` marks lines that the guide leaves out.
            for part in code.split('…').map(|part| part.trim_matches(['\n', ' ', '/'])) {
                assert!(source.contains(part), "{guide}: not in {file}:\n{part}");
            }
        }
    }
    let guide = "text\n```rust,file=a.rs\nlet x;\nlet y;\n```\n```rust\nz\n```\n```sh\nno\n```\n";
    let expected = [("a.rs", "let x;\nlet y;"), ("", "z")];
    assert_eq!(snippets(guide), expected.map(|(file, code)| (file.to_owned(), code.to_owned())));
}

/// Returns the commands in the code blocks of a text, without their comments.
fn commands(text: &str) -> Vec<&str> {
    let blocks = text.split("```").skip(1).step_by(2);
    let blocks = blocks.filter(|block| block.starts_with("sh\n") || block.starts_with("console\n"));
    blocks.flat_map(str::lines).map(|line| line.split('#').next().unwrap()).collect()
}

/// Returns whether a command line contains a URL with a password, or the variable `PETSTORE_STORE`, whose URL may have
/// one. Every user of the machine can read a command line.
fn shows_password(line: &str) -> bool {
    line.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', ' ', '\'', '"']).next().unwrap();
        authority.split_once('@').is_some_and(|(user, _)| user.contains(':'))
    }) || line.contains("$PETSTORE_STORE")
}

#[test]
fn no_example_puts_a_password_on_a_command_line() {
    for line in ["serve --store 'etcd://a:b@c,d/x'", "psql \"$PETSTORE_STORE\" -c"] {
        assert!(shows_password(line), "{line}");
    }
    assert_eq!(commands("x\n```sh\na # b\n```\ny ```rust\nc\n```"), ["sh", "a "]);
    for document in documents() {
        let text = text(&document);
        let shown: Vec<_> =
            commands(&text).into_iter().filter(|line| shows_password(line)).collect();
        assert_eq!(shown, [""; 0], "{document}");
    }
    let examples = text("crates/app/src/cli/examples.txt");
    let shown: Vec<_> = examples.lines().filter(|line| shows_password(line)).collect();
    assert_eq!(shown, [""; 0]);
}
