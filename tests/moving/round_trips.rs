//! Stores without animals, and stores that are recognized under each of their URLs.

use std::{fs, os::unix::fs::symlink};

use super::commands::{copy, exported, import, made, make, run, verify};
use crate::support::store::{Kind, Store, on_stores};

#[test]
fn a_store_without_animals_is_copied_exported_and_imported() {
    let [from, to] = [made(Kind::Sqlite), made(Kind::Sqlite)];
    from.new_key("web");
    copy(&from.url, &to.url);
    verify(&from.url, &to.url);
    for (format, none) in [("ndjson", ""), ("csv", "id,name,categoryId,status\n")] {
        assert_eq!(exported(&to.url, format), none);
        import(&to.url, format, none).succeeds();
    }
}

/// Returns other URLs of the store.
fn spellings(store: &Store) -> Vec<String> {
    if store.url.starts_with("postgres:") {
        let name = store.url.replace("@127.0.0.1:", "@localhost:");
        return vec![name, format!("{}?schema=public", store.url)];
    }
    if store.url.starts_with("etcd:") {
        let name = store.url.replace("//127.0.0.1:", "//localhost:");
        return vec![name, format!("{}?call_timeout=9s", store.url)];
    }
    let [folder, file] = [store.folder(), store.file()];
    let [symbolic, hard] = ["symbolic.db", "hard.db"].map(|link| folder.join(link));
    symlink(&file, &symbolic).unwrap();
    fs::hard_link(&file, &hard).unwrap();
    let other_way = folder.join("../").join(folder.file_name().unwrap()).join("petstore.db");
    let mut urls = [file.clone(), other_way, symbolic, hard]
        .map(|path| format!("sqlite:{}", path.display()))
        .to_vec();
    urls[0].push_str("?synchronous=normal");
    urls
}

fn one_store_is_recognized_under_each_of_its_urls(kind: Kind) {
    let store = Store::new(kind);
    let url = store.url.as_str();
    run(&["store", "copy", "--from", url, "--to", url]).fails(2, "name the same store");
    make(&store);
    for other in spellings(&store) {
        for command in [&["copy"][..], &["verify"], &["move", "--yes"]] {
            for [from, to] in [[url, &other], [&other, url]] {
                run(&[&["store"], command, &["--from", from, "--to", to]].concat())
                    .fails(2, "name the same store");
            }
        }
    }
}

on_stores!(lasting: one_store_is_recognized_under_each_of_its_urls);
