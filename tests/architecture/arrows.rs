//! Allowed dependencies of the packages on each other and on libraries; no mocks in a release, no I/O in the domain.

use crate::{Package, WORKSPACE, is_test, path, sources};

/// A dependency of one package on another.
struct Arrow {
    from: String,
    to: String,
    /// `true` for a dev-dependency.
    dev: bool,
}

fn arrow(from: &str, to: &str, dev: bool) -> Arrow {
    Arrow { from: from.to_owned(), to: to.to_owned(), dev }
}

fn arrows() -> Vec<Arrow> {
    let arrows = WORKSPACE.packages.iter().flat_map(|package| {
        let dependencies = package.dependencies.iter();
        dependencies.map(|dependency| arrow(&package.name, &dependency.name, dependency.is_dev()))
    });
    arrows.collect()
}

/// Each package of the workspace, and the packages of ours that it may depend on. An unlisted package may use none.
const OURS: [(&str, &[&str]); 19] = [
    ("petstore-domain", &[]),
    ("petstore-memory", &["petstore-domain"]),
    ("petstore-storage", &["petstore-domain"]),
    ("petstore-sqlite", &["petstore-domain", "petstore-storage"]),
    ("petstore-postgres", &["petstore-domain", "petstore-storage"]),
    ("petstore-etcd", &["petstore-domain", "petstore-storage"]),
    ("petstore-conformance", &["petstore-domain"]),
    ("petstore-needs", &[]),
    ("petstore-testing", &["petstore-needs"]),
    ("petstore-bench", &[]),
    ("petstore-json", &["petstore-domain"]),
    ("petstore-http", &["petstore-domain", "petstore-json"]),
    ("petstore-pages", &[]),
    ("petstore-transfer", &["petstore-domain"]),
    (
        "petstore",
        &[
            "petstore-domain",
            "petstore-memory",
            "petstore-storage",
            "petstore-sqlite",
            "petstore-postgres",
            "petstore-etcd",
            "petstore-json",
            "petstore-http",
            "petstore-pages",
            "petstore-transfer",
        ],
    ),
    // An adapter and a service, as the guides show them to authors outside this repository.
    ("example-adapter", &["petstore", "petstore-domain", "petstore-storage"]),
    ("example-testing", &["petstore-domain"]),
    // An adapter that stays as it was written for petstore 2.0.
    ("petstore-kept", &["petstore-domain"]),
    // A program around the HTTP adapter, with a store of its choice.
    ("example-http", &["petstore-domain", "petstore-http", "petstore-memory"]),
];

/// Additional dev-dependencies that every package may have: the domain, the in-memory store, the conformance suite and
/// test servers.
const FOR_TESTS: [&str; 4] =
    ["petstore-domain", "petstore-memory", "petstore-conformance", "petstore-testing"];

/// Libraries that the domain must not use: I/O, a runtime, a wire format, a protocol.
const NOT_IN_DOMAIN: [&str; 5] = ["tokio", "serde", "serde_json", "http", "tracing"];

/// Names of the standard library for I/O, threads or a clock. The domain uses none of them.
const IO: [&str; 9] =
    ["env", "fs", "io", "net", "process", "thread", "println", "Instant", "SystemTime"];

/// Returns the names of [`IO`] in the code of `source`, without its comments.
fn io_in(source: &str) -> Vec<&str> {
    let code = source.lines().filter_map(|line| line.split("//").next());
    let words =
        code.flat_map(|line| line.split(|char: char| !char.is_alphanumeric() && char != '_'));
    words.filter(|word| IO.contains(word)).collect()
}

/// Libraries, by the beginning of their names, that only the listed packages may use outside tests. Only
/// `petstore-http` serves HTTP; `petstore-etcd` is an HTTP client.
const ONLY_IN: [(&str, &[&str]); 6] = [
    ("mockall", &["petstore-domain"]),
    ("hyper", &["petstore-http", "petstore-etcd"]),
    ("h2", &["petstore-http"]),
    ("http-body", &["petstore-http", "petstore-etcd"]),
    ("rusqlite", &["petstore-sqlite"]),
    ("tokio-postgres", &["petstore-postgres"]),
];

/// The benchmark package. It may use the libraries of [`ONLY_IN`], because it compares the service with them.
const YARDSTICK: &str = "petstore-bench";

fn forbidden(arrows: &[Arrow]) -> Vec<String> {
    let wrong = arrows.iter().filter(|arrow| !is_allowed(arrow));
    wrong.map(|Arrow { from, to, .. }| format!("{from} -> {to}")).collect()
}

fn is_allowed(Arrow { from, to, dev }: &Arrow) -> bool {
    if to.starts_with("petstore") {
        let own = OURS.iter().find(|(name, _)| name == from).map_or(&[][..], |(_, known)| *known);
        return own.contains(&to.as_str()) || (*dev && FOR_TESTS.contains(&to.as_str()));
    }
    if *dev {
        return true;
    }
    let reserved = ONLY_IN.iter().find(|(library, _)| to.starts_with(library));
    let elsewhere =
        reserved.is_some_and(|(_, owners)| !owners.contains(&&**from) && from != YARDSTICK);
    let unworldly = from == "petstore-domain" && NOT_IN_DOMAIN.contains(&to.as_str());
    !elsewhere && !unworldly
}

#[test]
fn every_arrow_is_allowed() {
    let arrows = arrows();
    assert!(!arrows.is_empty());
    assert_eq!(forbidden(&arrows), [""; 0]);
}

#[test]
fn a_forbidden_arrow_is_reported() {
    for (from, to, dev) in [
        ("petstore-domain", "petstore-memory", false),
        ("petstore-domain", "petstore-http", true),
        ("petstore-domain", "tokio", false),
        ("petstore-memory", "petstore-sqlite", false),
        ("petstore-etcd", "petstore-http", false),
        ("petstore-http", "mockall", false),
        ("petstore", "petstore-conformance", false),
        ("example-adapter", "petstore-memory", false),
        ("petstore", "hyper", false),
        ("petstore", "rusqlite", false),
        ("petstore", "petstore-testing", false),
        ("petstore-newcomer", "petstore-domain", false),
        ("petstore", "petstore-bench", false),
        ("petstore-bench", "petstore-http", false),
    ] {
        assert_eq!(forbidden(&[arrow(from, to, dev)]), [format!("{from} -> {to}")]);
    }
}

/// Returns the dependencies and features by which a package brings mocks into a release build. A build of tests always
/// has mocks, because cargo unifies features.
fn ways_for_mocks(package: &Package) -> Vec<String> {
    let is_domain = package.name == "petstore-domain";
    let released = package.dependencies.iter().filter(|it| !it.is_dev());
    let asks = released.filter(|it| {
        it.features.iter().any(|it| it == "mocks") || it.name == "mockall" && !it.optional
    });
    let mut ways: Vec<_> = asks.map(|it| it.name.clone()).collect();
    for (feature, enabled) in &package.features {
        let is_own = is_domain && feature == "mocks";
        ways.extend(enabled.iter().filter(|it| it.contains("mock") && !is_own).cloned());
    }
    ways
}

#[test]
fn no_release_build_has_mocks() {
    for package in &WORKSPACE.packages {
        assert_eq!(ways_for_mocks(package), [""; 0], "{}", package.name);
        if package.name == "petstore-domain" {
            let mut careless = package.clone();
            careless.features.insert("default".to_owned(), vec!["mocks".to_owned()]);
            for dependency in &mut careless.dependencies {
                dependency.optional = false;
            }
            assert_eq!(ways_for_mocks(&careless), ["mockall", "mocks"]);
        }
    }
}

#[test]
fn the_domain_does_no_io() {
    let mut sources = sources(&path("crates/domain/src"));
    sources.retain(|(file, _)| !is_test(file));
    assert!(sources.len() > 10);
    for (file, source) in sources {
        assert_eq!(io_in(&source), [""; 0], "{}", file.display());
    }
    let reading = "use std::{fs::File, time::SystemTime}; // std::net\nlet fs_type = env!(\"A\");";
    assert_eq!(io_in(reading), ["fs", "SystemTime", "env"]);
}
