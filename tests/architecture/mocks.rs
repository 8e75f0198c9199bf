//! No release build contains mocks.
//!
//! The test reads the manifests, because cargo unifies features within one build. The resolved graph of a test run
//! always includes the mocks.

use cargo_metadata::{DependencyKind, Package};

use crate::WORKSPACE;

/// The dependencies and features that matter for mocks.
struct Wish {
    package: String,
    dependency: String,
    optional: bool,
    features: Vec<String>,
}

fn wishes(packages: &[&Package]) -> Vec<Wish> {
    let wishes = packages.iter().flat_map(|package| {
        let released = package
            .dependencies
            .iter()
            .filter(|dependency| dependency.kind != DependencyKind::Development);
        released.map(|dependency| Wish {
            package: package.name.to_string(),
            dependency: dependency.name.clone(),
            optional: dependency.optional,
            features: dependency.features.clone(),
        })
    });
    wishes.collect()
}

/// Returns the dependencies that bring mocks into a release build.
fn mocking_dependencies(wishes: &[Wish]) -> Vec<String> {
    let mocking = wishes.iter().filter(|wish| {
        let allowed = wish.package == "petstore-domain" && wish.optional;
        let asks = wish.features.iter().any(|feature| feature == "mocks");
        (wish.dependency == "mockall" && !allowed) || asks
    });
    mocking.map(|wish| format!("{} -> {}", wish.package, wish.dependency)).collect()
}

/// Returns the features that bring in mocks: `(package, feature, what it enables)`. Only the feature `mocks` of the
/// domain may do so, and no feature may enable it.
fn mocking_features(features: &[(&str, &str, &str)]) -> Vec<String> {
    let mocking = features.iter().filter(|(package, feature, enables)| {
        let own = *package == "petstore-domain" && *feature == "mocks";
        let mocks = enables.contains("mock") || *enables == "mocks";
        mocks && !own
    });
    mocking.map(|(package, feature, enables)| format!("{package}: {feature} = {enables}")).collect()
}

#[test]
fn no_release_build_has_mocks() {
    let packages = WORKSPACE.workspace_packages();
    assert_eq!(mocking_dependencies(&wishes(&packages)), [""; 0]);

    let features = packages.iter().flat_map(|package| {
        package.features.iter().flat_map(|(feature, enabled)| {
            enabled
                .iter()
                .map(|enables| (package.name.as_str(), feature.as_str(), enables.as_str()))
        })
    });
    let features: Vec<_> = features.collect();
    assert!(features.contains(&("petstore-domain", "mocks", "dep:mockall")));
    assert_eq!(mocking_features(&features), [""; 0]);
}

#[test]
fn a_way_for_mocks_into_a_release_build_is_reported() {
    let wish = |package: &str, dependency: &str, optional, features: &[&str]| Wish {
        package: package.to_owned(),
        dependency: dependency.to_owned(),
        optional,
        features: features.iter().map(|&feature| feature.to_owned()).collect(),
    };
    let allowed = wish("petstore-domain", "mockall", true, &[]);
    let forbidden = [
        wish("petstore-domain", "mockall", false, &[]),
        wish("petstore-http", "mockall", true, &[]),
        wish("petstore-http", "petstore-domain", false, &["mocks"]),
    ];
    assert_eq!(mocking_dependencies(&[allowed]), [""; 0]);
    assert_eq!(mocking_dependencies(&forbidden).len(), forbidden.len());

    let forbidden = [
        ("petstore-domain", "default", "mocks"),
        ("petstore", "default", "petstore-domain/mocks"),
        ("petstore-http", "mocks", "dep:mockall"),
    ];
    assert_eq!(mocking_features(&forbidden).len(), forbidden.len());
}
