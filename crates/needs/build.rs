//! Searches for the programs that tests need. Runs again after a package was installed or removed.

use std::path::Path;

#[path = "../testing/src/programs.rs"]
mod programs;

use programs::{EXTERNAL, FOLDER, FOLDERS, NEEDS, Need, QUIET, TEST_ALL, is_met, tests_all};

fn main() {
    let is_missing = |need: &&Need| need.0 == QUIET || !tests_all() && !is_met(need);
    let missing = NEEDS.iter().filter(is_missing).map(|(name, ..)| *name);
    println!("cargo::rustc-env=MISSING={}", missing.collect::<Vec<_>>().join(" "));
    println!("cargo::rerun-if-changed=../testing/src/programs.rs");
    for variable in [TEST_ALL, EXTERNAL, FOLDER] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    // Cargo treats a missing folder as changed in every build.
    for folder in FOLDERS.iter().filter(|folder| Path::new(folder).exists()) {
        println!("cargo::rerun-if-changed={folder}");
    }
}
