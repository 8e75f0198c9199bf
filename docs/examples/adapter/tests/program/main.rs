//! The program with a store of its own, started and driven from outside.

#![expect(clippy::unwrap_used, reason = "tests")]

mod closing;
mod support;
mod without_archive;

use crate::support::{Folder, Service};

const PROGRAM: &str = env!("CARGO_BIN_EXE_example-adapter");

#[test]
fn the_store_is_served_and_keeps_what_was_added() {
    let folder = Folder::new(PROGRAM);
    let key = folder.run(&["keys", "create", "web", "--store", "file:a.ndjson"]);
    let key = key.succeeds().trim_end().to_owned();
    assert!(key.starts_with("pst_"), "{key}");

    let service = Service::start(&folder, "file:a.ndjson");
    let created = service.post(&key, r#"{"name":"Rex","categoryId":7}"#);
    assert!(created.starts_with("HTTP/1.1 201 "), "{created}");
    let refused = service.get("pst_unknown", "/v1/pets");
    assert!(refused.starts_with("HTTP/1.1 401 "), "{refused}");
    service.stop();

    let service = Service::start(&folder, "file:a.ndjson");
    let listed = service.get(&key, "/v1/pets");
    assert!(listed.starts_with("HTTP/1.1 200 ") && listed.contains(r#""name":"Rex""#), "{listed}");
    service.stop();
    let keys = folder.run(&["keys", "list", "--store", "file:a.ndjson"]).succeeds();
    assert!(keys.contains("web"), "{keys}");
}

#[test]
fn a_store_for_one_process_cannot_manage_its_keys_while_it_serves() {
    let folder = Folder::new(PROGRAM);
    folder.run(&["keys", "create", "web", "--store", "file:a.ndjson"]).succeeds();
    let service = Service::start(&folder, "file:a.ndjson");
    let refused = folder.run(&["keys", "list", "--store", "file:a.ndjson"]);
    refused.fails(1, "another process has a.ndjson open; stop that");
    service.stop();
}

#[test]
fn a_catalogue_is_copied_from_file_to_file() {
    let folder = Folder::new(PROGRAM);
    let animals = "{\"name\":\"Rex\",\"categoryId\":7}\n{\"name\":\"Ada\",\"categoryId\":8}\n";
    folder.write("pets.ndjson", animals);
    folder.run(&["import", "--create", "pets.ndjson", "--store", "file:a.ndjson"]).succeeds();
    folder.run(&["keys", "create", "web", "--store", "file:a.ndjson"]).succeeds();
    for (from, to) in [("file:a.ndjson", "file:b.ndjson"), ("file:b.ndjson", "file:c.ndjson")] {
        let copied = folder.run(&["store", "copy", "--from", from, "--to", to]).succeeds();
        assert!(
            copied.starts_with("copied 2 animals (0 were there before), 1 API keys"),
            "{copied}"
        );
        let equal = folder.run(&["store", "verify", "--from", from, "--to", to]).succeeds();
        assert!(equal.contains("the stores are equal: 2 animals, 1 API keys"), "{equal}");
    }
    let exported = folder.run(&["export", "--store", "file:b.ndjson"]).succeeds();
    assert_eq!(exported.lines().count(), 2, "{exported}");
    for to in ["file:b.ndjson", "file:./b.ndjson"] {
        folder
            .run(&["store", "verify", "--from", "file:b.ndjson", "--to", to])
            .fails(2, "--from and --to name the same store");
    }
}

#[test]
fn help_and_refusals_name_the_store_beside_the_built_in_ones() {
    let folder = Folder::new(PROGRAM);
    let help = folder.run(&["serve", "--help"]).succeeds();
    for usage in ["- memory: (", "- file:PATH ("] {
        assert!(help.contains(usage), "{help}");
    }
    let serve = |url| folder.run(&["serve", "--store", url]);
    serve("redb:a").fails(2, "memory: or file:PATH; try 'petstore serve --help'");
    serve("file:").fails(2, "no path is given; use file:PATH");
    folder.run(&["keys", "list", "--store", "file:none"]).fails(1, "there is no store at none");
    assert!(!folder.path("none").exists());
    folder.run(&["keys", "create", "web", "--store", "file:a.ndjson"]).succeeds();
    folder
        .run(&["backup", "--to", "copy", "--store", "file:a.ndjson"])
        .fails(1, "this kind of store has no backup; 'petstore export' writes its animals down");
    assert!(!folder.path("copy").exists());
}
