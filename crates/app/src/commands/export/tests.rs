use std::fs;

use super::begin;

#[test]
fn an_existing_file_is_replaced_only_with_force_even_if_created_during_the_export() {
    for force in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pets.csv");
        let mut target = begin(&path, force).unwrap();
        target.write(b"ours").unwrap();
        fs::write(&path, "theirs").unwrap();

        for refusal in [begin(&path, force).err(), target.finish().err()] {
            let refusal = refusal.map(|failure| failure.to_string());
            assert_eq!(refusal.is_none(), force, "{refusal:?}");
            let says = |line: &str| line.ends_with("exists already; --force replaces it");
            assert!(refusal.as_deref().is_none_or(says), "{refusal:?}");
        }
        let expected = if force { "ours" } else { "theirs" };
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a partial file is left");
    }
}
