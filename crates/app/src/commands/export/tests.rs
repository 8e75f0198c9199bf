use std::fs;

use super::begin;

#[test]
fn a_file_created_during_the_export_is_replaced_only_with_force() {
    for force in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pets.csv");
        let mut target = begin(&path, force).unwrap();
        target.write(b"ours").unwrap();
        fs::write(&path, "theirs").unwrap();

        let finished = target.finish();
        let expected = if force { "ours" } else { "theirs" };
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a partial file is left");
        match finished {
            Ok(_) => assert!(force),
            Err(failure) => {
                assert!(!force && failure.to_string().contains("exists already"), "{failure}");
            }
        }
    }
}

#[test]
fn an_existing_file_is_refused_without_force() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let refusal = begin(file.path(), false).unwrap_err();
    assert!(refusal.to_string().ends_with("exists already; --force replaces it"), "{refusal}");
    begin(file.path(), true).unwrap();
}
