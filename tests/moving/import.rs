//! Imports: accepted and repeated files, bad lines, dry runs, full disks, and services that write meanwhile.

use std::{
    fs,
    io::Write as _,
    time::{Duration, Instant},
};

use flate2::{Compression, write::GzEncoder};
use serde_json::json;

use super::{
    animals::many,
    commands::{exported, feed, import, made, make, run},
};
use crate::support::{
    catalogue,
    command::{petstore, until_ended},
    server::Launch,
    store::{Kind, Store, on_stores},
    wait,
};

const GOOD: &str = "{\"name\":\"Rex\",\"categoryId\":1}\n";

#[test]
fn a_bad_line_keeps_the_whole_file_out() {
    let store = made(Kind::Sqlite);
    import(&store.url, "ndjson", GOOD).succeeds();
    let before = exported(&store.url, "ndjson");
    let text = format!("{}{{\"name\":\"\"}}\n{GOOD}nonsense\n", many(12_000));
    let refused = import(&store.url, "ndjson", &text);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
    let said: Vec<_> = refused.stderr.lines().collect();
    assert_eq!(
        said[0],
        "line 12001: `name`: must have 1 to 255 characters, but is empty; \
             `categoryId`: is required"
    );
    let fault = "the line must be one JSON document, but: expected ident at column 2";
    assert_eq!(said[1], format!("line 12003: {fault}"));
    assert_eq!(
        said[2],
        "petstore: nothing was stored: 2 lines are bad; correct them, or skip them with 'petstore import \
             --skip-bad'"
    );
    assert_eq!(said.len(), 3);
    assert_eq!(exported(&store.url, "ndjson"), before);
}

#[test]
fn with_skip_bad_the_good_lines_are_imported() {
    let store = made(Kind::Sqlite);
    let text = "name,categoryId,status\nRex,1,\nx,y,z\nTom,2,sold\n,,\n";
    let words = ["import", "--store", &store.url, "--format", "csv", "--skip-bad"];
    let done = feed(&words, text);
    assert!(done.stderr.starts_with("line 3: `categoryId`: must be a whole number"));
    let said = done.succeeds();
    assert_eq!(said, "added 2 animals, passed over 0 that were there, skipped 2 bad lines\n");
    let kept = "id,name,categoryId,status\n1,Rex,1,\n2,Tom,2,sold\n";
    assert_eq!(exported(&store.url, "csv"), kept);
}

#[test]
fn a_hundred_bad_lines_are_shown_and_the_rest_is_counted() {
    let store = made(Kind::Sqlite);
    let members: Vec<_> = (0..50).map(|n| format!("\"x{n}\":1")).collect();
    let text = format!("{{{}}}\n{}", members.join(","), "x\n".repeat(20_249));
    let refused = import(&store.url, "ndjson", &text);
    let said: Vec<_> = refused.stderr.lines().collect();
    assert_eq!(said.len(), 102);
    assert_eq!(said[0].len(), "line 1: ".len() + 400);
    assert!(said[99].starts_with("line 100: "));
    assert_eq!(said[100], "and 20150 more bad lines");
    assert!(said[101].starts_with("petstore: nothing was stored: 20250 lines are bad"));
}

fn an_import_of_a_bad_file_makes_no_store_and_removes_no_old_one(kind: Kind) {
    let store = Store::new(kind);
    for is_made in [false, true] {
        let words = ["import", "--create", "--store", &store.url];
        let done = feed(&words, &format!("{GOOD}nonsense\n"));
        let says = "nothing was stored: 1 line is bad; correct it";
        assert!(done.code == Some(1) && done.stderr.contains(says), "{done:?}");
        assert_eq!(store.is_made(), is_made, "{done:?}");
        make(&store);
        assert_eq!(exported(&store.url, "ndjson"), "");
    }
}

#[test]
fn an_import_on_a_full_disk_succeeds_once_there_is_room() {
    for blocks in [1, 70, 200] {
        let store = Store::sqlite();
        let folder = Store::memory();
        let file = folder.write("pets.ndjson", &many(9_000));
        let words = ["import", "--create", "--store", &store.url, &file];
        let done = petstore(&words).with_limit(&format!("-f {blocks}")).finish();
        assert_eq!(done.code, Some(1), "{done:?}");
        let made = feed(&words, "").succeeds();
        assert_eq!(
            made,
            "added 9000 animals, passed over 0 that were there, skipped 0 bad lines\n"
        );
    }
}

#[test]
fn files_of_other_programs_are_accepted() {
    let store = made(Kind::Sqlite);
    let folder = tempfile::tempdir().unwrap();
    let gzip = |name: &str, text: &str| {
        let path = folder.path().join(name);
        let mut file = fs::File::create(&path).unwrap();
        // The file has a member for each line, as `cat a.gz b.gz` writes.
        for line in text.split_inclusive('\n') {
            let mut member = GzEncoder::new(&mut file, Compression::fast());
            member.write_all(line.as_bytes()).unwrap();
            member.finish().unwrap();
        }
        path.to_str().unwrap().to_owned()
    };
    let none = "{\"name\":\"Rex\",\"categoryId\":1,\"status\":null}\n";
    for (name, text, words) in [
        ("a.csv.gz", "name,categoryId\nRex,1\n", &[][..]),
        ("b.ndjson.GZ", none, &[]),
        ("c.csv.gz", "name;categoryId\nRex;1\n", &["--delimiter", ";"]),
        ("d.csv.gz", "name\tcategoryId\nRex\t1\n", &["--delimiter", "tab"]),
    ] {
        let path = gzip(name, text);
        let words = [&["import", "--store", &store.url, &path], words].concat();
        assert!(run(&words).succeeds().starts_with("added 1 animal, "), "{name}");
    }
    assert_eq!(store.pets(), 4);
    // Another program has read the first line.
    let rest = store.write("rest.csv", "nonsense\nname,categoryId\nRex,1\n");
    let script = format!("exec < {rest}; read line; exec \"$@\"");
    let words = ["import", "--format", "csv", "--store", &store.url];
    petstore(&words).behind(["/bin/sh", "-c", &script, "sh"]).finish().succeeds();
    let damaged = store.write("damaged.csv.gz", "name,categoryId\nRex,1\n");
    run(&["import", "--store", &store.url, &damaged]).fails(1, "cannot copy the whole input");
}

#[test]
fn a_dry_run_says_what_would_be_done_and_does_nothing() {
    let store = made(Kind::Sqlite);
    import(&store.url, "csv", "id,name,categoryId\n1,Rex,1\n2,Tom,1\n").succeeds();
    let dry = |format: &str, text: &str, words: &[&str]| {
        let all = [&["import", "--dry-run", "--format", format, "--store", &store.url], words];
        feed(&all.concat(), text)
    };
    let text = "id,name,categoryId\n2,Tom,1\n3,Kim,1\nx\n";
    assert_eq!(
        dry("csv", text, &["--skip-bad"]).succeeds(),
        "would add 1 animal; 1 already there, 1 bad line; nothing was changed\n"
    );
    let bad = dry("csv", text, &[]);
    assert!(
        bad.code == Some(1) && bad.stderr.contains("nothing was stored: 1 line is bad"),
        "{bad:?}"
    );
    let other = dry("csv", "id,name,categoryId\n2,Kim,1\n", &[]);
    other.fails(1, "another animal 2");
    let new = dry("ndjson", GOOD, &[]).succeeds();
    assert!(new.starts_with("would add 1 animal; none, if the file was imported"), "{new}");
    let again = dry("ndjson", GOOD, &["--again"]).succeeds();
    assert!(again.starts_with("would add 1 animal; 0 already there"), "{again}");
    assert_eq!(store.pets(), 2);
}

fn an_addition_beside_a_large_import_waits_for_one_batch_at_most(kind: Kind) {
    // At least twenty batches.
    let pets = if kind == Kind::Etcd { 10_000 } else { 200_000 };
    let store = made(kind);
    let file = store.write("pets.ndjson", &many(pets));
    let server = Launch::on(&store).start();
    let client = server.client();
    let running = petstore(&["import", "--store", &store.url, &file]).spawn();
    let mut longest = Duration::ZERO;
    let (added, done) = until_ended(running, || {
        let began = Instant::now();
        // Panics for any status but 201.
        catalogue::add(&client, &catalogue::pet("Beside"));
        longest = longest.max(began.elapsed());
    });
    done.succeeds();
    // An import in a single transaction would permit one addition before it, and one after it.
    assert!(added > 2, "{added} animals were added beside the import");
    assert_eq!(store.pets(), pets + added);
    assert!(longest < Duration::from_secs(1), "an addition took {longest:.2?}");
}

fn a_file_is_imported_once_unless_it_is_asked_for_again(kind: Kind) {
    let store = made(kind);
    let (batch, count) = (kind.batch(), kind.batch() * 5 / 4);
    let text = many(count);
    let said = import(&store.url, "ndjson", &text).succeeds();
    assert!(said.starts_with(&format!("added {count} animals, passed over 0 ")), "{said}");
    let said = import(&store.url, "ndjson", &text).succeeds();
    assert!(said.starts_with(&format!("added 0 animals, passed over {count} ")), "{said}");
    // The repeated file differs only in its last batch.
    let new = count + 1 - batch;
    let said = import(&store.url, "ndjson", &format!("{text}{GOOD}")).succeeds();
    assert!(said.starts_with(&format!("added {new} animals, passed over {batch} ")), "{said}");
    let said = feed(&["import", "--again", "--store", &store.url], &text).succeeds();
    assert!(said.starts_with(&format!("added {count} animals, passed over 0 ")), "{said}");
    assert_eq!(store.pets(), 2 * count + new);
}

fn during_an_import_a_service_assigns_identifiers_above_the_identifiers_of_the_file(kind: Kind) {
    let store = made(kind).patient();
    let server = Launch::on(&store).start();
    let client = server.client();
    let pet = |id: usize| json!({"id": id, "name": "Rex", "categoryId": 1}).to_string() + "\n";
    let pets = if kind == Kind::Etcd { 10_000 } else { 60_000 };
    // The highest identifier is not the last identifier in the file.
    let text: String =
        (1..=pets).map(|id| pet(if id == pets / 2 { 500_000 } else { id })).collect();
    let file = store.write("pets.ndjson", &text);
    let running = petstore(&["import", "--store", &store.url, &file]).spawn();
    wait::until("the first batch is there", || store.pets() > 0);
    let (added, done) = until_ended(running, || {
        let id = catalogue::id_of(&catalogue::add(&client, &catalogue::pet("Beside")));
        assert!(id > 500_000, "{id} is not above the file's identifiers");
    });
    done.succeeds();
    assert!(added > 0);
    assert_eq!(store.pets(), pets + added);
    server.stop();
}

on_stores!(
    lasting:
    an_import_of_a_bad_file_makes_no_store_and_removes_no_old_one,
    #[petstore_testing::needs(quiet)]
    an_addition_beside_a_large_import_waits_for_one_batch_at_most,
    a_file_is_imported_once_unless_it_is_asked_for_again,
    #[petstore_testing::needs(time)]
    during_an_import_a_service_assigns_identifiers_above_the_identifiers_of_the_file,
);
