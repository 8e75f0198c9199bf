//! A store without an archive is served. Commands that need the archive refuse it.

use crate::support::{Folder, Service};

const PROGRAM: &str = env!("CARGO_BIN_EXE_without-archive");
const NO_ARCHIVE: &str = "file:a.ndjson has no archive, so it cannot be copied, verified, exported or \
                          imported into";

#[test]
fn a_store_without_an_archive_is_served_and_its_keys_are_managed() {
    let folder = Folder::new(PROGRAM);
    let key = folder.run(&["keys", "create", "web", "--store", "file:a.ndjson"]);
    let key = key.succeeds().trim_end().to_owned();
    let service = Service::start(&folder, "file:a.ndjson");
    let created = service.post(&key, r#"{"name":"Rex","categoryId":7}"#);
    assert!(created.starts_with("HTTP/1.1 201 "), "{created}");
    service.stop();
    folder.run(&["keys", "revoke", "web", "--store", "file:a.ndjson"]).succeeds();
}

#[test]
fn a_store_without_an_archive_is_neither_copied_nor_exported_nor_imported_into() {
    let folder = Folder::new(PROGRAM);
    for url in ["file:a.ndjson", "file:b.ndjson"] {
        folder.run(&["keys", "create", "web", "--store", url]).succeeds();
    }
    for command in ["copy", "verify"] {
        let stores = ["store", command, "--from", "file:a.ndjson", "--to", "file:b.ndjson"];
        folder.run(&stores).fails(1, NO_ARCHIVE);
    }
    folder.run(&["export", "--store", "file:a.ndjson", "pets.csv"]).fails(1, NO_ARCHIVE);
    assert!(!folder.path("pets.csv").exists());
    folder.run(&["import", "--store", "file:a.ndjson"]).fails(1, NO_ARCHIVE);
}
