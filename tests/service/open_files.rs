//! A limit on open files that is too low for the store is called by its name.

use crate::support::{command::petstore, store::Store};

#[test]
fn too_many_open_files_is_not_called_a_missing_permission() {
    let store = Store::sqlite();
    store.new_key("web");
    let mut named = 0;
    for limit in 8..40 {
        let list = petstore(&["keys", "list", "--store", &store.url]).with_open_files(limit);
        let done = list.finish();
        if done.code == Some(0) {
            continue;
        }
        assert!(!done.stderr.contains("permission denied"), "{limit}: {done:?}");
        assert!(done.stderr.to_lowercase().contains("too many open files"), "{limit}: {done:?}");
        named += usize::from(done.stderr.contains(&format!("too many open files (limit {limit})")));
    }
    assert!(named > 0, "no limit was too low for the store alone");
}
