//! Checks of the repository's folders, of the manifests, and of the lint that every wrapper of a port must have.

use std::fs;

use crate::{WORKSPACE, is_test, path, sources, text};

/// The files of the store that the README's first command creates. Git ignores them.
const FIRST_STORE: [&str; 4] =
    ["petstore.db", "petstore.db-wal", "petstore.db-shm", "petstore.db.key"];

/// Returns unexpected entries at the top. Names that begin with a dot are allowed.
fn strangers(names: &[&str]) -> Vec<String> {
    let known = ["Cargo.toml", "Cargo.lock", "crates", "tests", "docs", "README.md", "target"];
    let may = |name: &str| known.contains(&name) || FIRST_STORE.contains(&name);
    let strange = names.iter().filter(|name| !name.starts_with('.') && !may(name));
    strange.map(|name| (*name).to_owned()).collect()
}

/// Returns the external dependencies of the workspace that have no comment with the reason beside them.
fn unexplained(manifest: &str) -> Vec<String> {
    let dependencies = section(manifest, "[workspace.dependencies]");
    let declared = dependencies.iter().filter(|line| line.contains('=') && !line.starts_with('#'));
    let others = declared.filter(|line| !line.contains("path = "));
    let bare = others.filter(|line| {
        let reason = line.split_once(" # ").map_or("", |(_, reason)| reason.trim());
        reason.is_empty()
    });
    bare.map(|line| (*line).to_owned()).collect()
}

/// Returns whether a manifest inherits the lints of the workspace.
fn inherits_lints(manifest: &str) -> bool {
    section(manifest, "[lints]").contains(&"workspace = true")
}

fn section<'a>(manifest: &'a str, title: &str) -> Vec<&'a str> {
    let lines = manifest.lines().skip_while(|line| *line != title).skip(1);
    lines.take_while(|line| !line.starts_with('[')).collect()
}

#[test]
fn the_top_level_has_only_the_expected_entries() {
    let entries = fs::read_dir(path("")).unwrap();
    let names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    let names: Vec<_> = names.iter().map(|name| name.to_str().unwrap()).collect();
    assert!(names.contains(&"Cargo.toml"));
    assert_eq!(strangers(&names), [""; 0]);
    assert_eq!(strangers(&[".ci", "crates", "src", "Makefile"]), ["src", "Makefile"]);
}

#[test]
fn every_dependency_has_its_reason() {
    let manifest = text("Cargo.toml");
    assert!(section(&manifest, "[workspace.dependencies]").len() > 10);
    assert_eq!(unexplained(&manifest), [""; 0]);

    let bare = "[workspace.dependencies]\n# Ours.\na = { path = \"a\" }\n\
        b = \"1\" # tells the time\nc = \"1\"\nd = \"1\" # \n\n[workspace.lints.rust]\ne = \"1\"\n";
    assert_eq!(unexplained(bare), ["c = \"1\"", "d = \"1\" # "]);
}

#[test]
fn every_package_inherits_the_lints_of_the_workspace() {
    assert!(WORKSPACE.packages.len() >= 5);
    for package in &WORKSPACE.packages {
        let manifest = fs::read_to_string(&package.manifest_path).unwrap();
        assert!(inherits_lints(&manifest), "{}", package.name);
    }
    assert!(!inherits_lints("[lints.rust]\nworkspace = true\n"));
    assert!(!inherits_lints("[lints]\n\n[package]\nworkspace = true\n"));
}

#[test]
fn a_package_has_the_prefix_and_its_folder_does_not() {
    for package in &WORKSPACE.packages {
        let folder = package.manifest_path.parent().unwrap();
        let name = folder.file_name().unwrap().to_str().unwrap();
        // The examples stand for code outside this repository, so they have a prefix of their own.
        let expected = match (folder.starts_with(path("docs/examples")), name) {
            (true, other) => format!("example-{other}"),
            (false, "app") => "petstore".to_owned(),
            (false, other) => format!("petstore-{other}"),
        };
        assert_eq!(package.name.as_str(), expected);
        let parent = folder.parent().unwrap();
        let parents = ["crates", "docs/examples", "tests/upgrades"].map(path);
        assert!(parents.contains(&parent.into()), "{name}");
    }
}

/// The ports with several methods. A port may gain a method with a default body. A wrapper without that method
/// still compiles, but never calls the port behind it, so clippy must refuse the wrapper.
const PORTS: [&str; 7] =
    ["Archive", "Authenticator", "Handover", "KeyStore", "PetRepository", "PetService", "Snapshot"];

/// Returns the implementations of ports that clippy does not check for missing methods.
fn unchecked(source: &str) -> Vec<&str> {
    let lines: Vec<_> = source.lines().collect();
    let is_port =
        |line: &str| PORTS.iter().any(|port| line.starts_with(&format!("impl {port} for ")));
    let is_checked = |at: usize| {
        let above = lines[..at].iter().rev().take_while(|line| line.starts_with("#["));
        above.into_iter().any(|line| line.starts_with("#[warn(clippy::missing_trait_methods)]"))
    };
    let ports = lines.iter().enumerate().filter(|(at, line)| is_port(line) && !is_checked(*at));
    ports.map(|(_, line)| *line).collect()
}

#[test]
fn clippy_refuses_a_port_wrapper_without_a_method_of_the_port() {
    let mut read = 0;
    for name in ["app", "http", "transfer"] {
        for (file, source) in sources(&path(&format!("crates/{name}/src"))) {
            let code = source.split("#[cfg(test)]\nmod ").next().unwrap();
            if !is_test(&file) {
                assert_eq!(unchecked(code), [""; 0], "{}", file.display());
                read += usize::from(code.contains("impl PetRepository for"));
            }
        }
    }
    assert!(read > 0, "no wrapper was found");
    assert_eq!(
        unchecked("#[async_trait]\nimpl KeyStore for Late {}"),
        ["impl KeyStore for Late {}"]
    );
}
