//! Looks for what tests may need, once while building, and again when a package may have come or gone.

use std::path::Path;

#[path = "../testing/src/programs.rs"]
mod programs;

use programs::{EXTERNAL, FOLDER, FOLDERS, NEEDS, TEST_ALL, is_met, tests_all};

fn main() {
    let missing = NEEDS.iter().filter(|need| !tests_all() && !is_met(need)).map(|(name, ..)| *name);
    println!("cargo::rustc-env=MISSING={}", missing.collect::<Vec<_>>().join(" "));
    println!("cargo::rerun-if-changed=../testing/src/programs.rs");
    for variable in [TEST_ALL, EXTERNAL, FOLDER] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    // A folder that is not there would count as changed each time.
    for folder in FOLDERS.iter().filter(|folder| Path::new(folder).exists()) {
        println!("cargo::rerun-if-changed={folder}");
    }
}
