//! The output file of an export.

use std::{fs, path::Path};

use super::{
    animals::many,
    commands::{exported, import, make, run},
    paused::{end, run_until},
};
use crate::support::{
    command::{ended, lines, petstore},
    store::Store,
};

fn filled(count: usize) -> Store {
    let store = Store::sqlite();
    make(&store);
    import(&store.url, "ndjson", &many(count)).succeeds();
    store
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_file_appears_whole_and_replaces_another_or_the_target_of_a_link_only_when_forced() {
    let store = filled(3);
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (link, file) = (folder.path().join("pets.csv"), other.path().join("pets.csv"));
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let path = file.to_str().unwrap();
    let done = run(&["export", "--store", &store.url, path]);
    assert_eq!(done.stderr, format!("exported 3 animals to {path}\n"));
    assert_eq!(done.succeeds(), "");
    let usual = store.write("usual", "");
    let permissions = |path: &str| fs::metadata(path).unwrap().permissions();
    assert_eq!(permissions(path), permissions(&usual));
    let expected = exported(&store.url, "csv");
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);

    for path in [&file, &link] {
        fs::write(&file, "mine").unwrap();
        let words = ["export", "--store", &store.url, path.to_str().unwrap()];
        run(&words).fails(1, "exists already; --force replaces it");
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
        run(&[&words[..], &["--force"]].concat()).succeeds();
        assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    }
    assert!(link.is_symlink());
    for folder in [folder.path(), other.path()] {
        assert_eq!(names(folder), ["pets.csv"]);
    }
}

#[test]
fn only_a_plain_file_is_replaced() {
    let store = filled(1);
    for path in ["/dev/null", "/tmp"] {
        let refused = run(&["export", "--store", &store.url, "--force", path]);
        refused.fails(1, "is not a plain file; name another");
    }
}

#[test]
fn a_stopped_export_leaves_no_file() {
    let store = filled(30_000);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pets.ndjson");
    // On a busy machine, an export may be complete before its signal.
    let stopped = (0..10).find_map(|_| {
        let running = petstore(&["export", "--store", &store.url, file.to_str().unwrap()]).spawn();
        run_until(&running, "the export begins", || !names(folder.path()).is_empty());
        let ended = end(running, "TERM");
        let is_complete = ended.code == Some(0) && fs::remove_file(&file).is_ok();
        (!is_complete).then_some(ended)
    });
    let stopped = stopped.expect("ten exports were faster than their signals");
    stopped.fails(1, "petstore: stopped; the export is not complete\n");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_closed_output_pipe_is_reported_in_one_line() {
    let store = filled(5_000);
    let mut running = petstore(&["export", "--store", &store.url]).spawn();
    assert!(lines(running.stdout.take().unwrap()).next().is_some());
    let expected = "petstore: cannot write to stdout: Broken pipe (os error 32)\n";
    ended(running).fails(1, expected);
}
