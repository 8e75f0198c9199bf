//! The use of a copy, and its refusals.

use serde_json::json;

use super::{
    animals::many,
    commands::{copy, exported, import, made, run, verify},
};
use crate::support::{
    catalogue::{self, id_of, pet},
    server::Launch,
    store::{Kind, on_stores},
};

fn the_copy_takes_the_place_of_the_original(kinds: [Kind; 2]) {
    let [from, to] = kinds.map(made);
    let key = from.new_key("web");
    let revoked = from.new_key("old");
    from.keys(&["revoke", "old"]).succeeds();
    let server = Launch::on(&from).start();
    let once = server.client().add(&pet("Once")).key(&key).header("idempotency-key", "once");
    let first = once.clone().send().is(201).json();
    catalogue::add(&server.client(), &pet("Last"));
    server.stop();

    let said = copy(&from.url, &to.url);
    assert!(said.ends_with("2 API keys and 1 idempotency records\n"), "{said}");
    verify(&from.url, &to.url);

    let server = Launch::on(&to).start();
    let client = server.client();
    let again = client.add(&pet("Once")).key(&key).header("idempotency-key", "once").send();
    assert_eq!(again.must("idempotency-replayed"), "true");
    assert_eq!(again.is(201).json(), first);
    let other = client.add(&pet("Other")).key(&key).header("idempotency-key", "once");
    other.send().refuses(422, "idempotency_key_reused");
    client.get("/v1/pets").key(&revoked).send().refuses(401, "unauthorized");
    assert!(id_of(&catalogue::add(&client, &pet("Next"))) > 2);
    server.stop();
    to.new_key("next");
    let keys = to.keys(&["list"]).succeeds();
    let last = keys.lines().last().unwrap().split(' ').next().unwrap();
    assert!(last.parse::<u32>().unwrap() > 2, "{keys}");
}

fn identifiers_above_the_highest_follow_a_copy_and_an_import_with_gaps(kinds: [Kind; 2]) {
    let [from, to] = kinds.map(made);
    let record = json!({"id": 7_000_000_000_i64, "name": "Far", "categoryId": 1});
    let near = json!({"id": 3, "name": "Near", "categoryId": 1});
    import(&from.url, "ndjson", &format!("{record}\n{near}\n")).succeeds();
    copy(&from.url, &to.url);
    for store in [&from, &to] {
        let server = Launch::on(store).start();
        let next = catalogue::add(&server.client(), &pet("Next"));
        assert_eq!(id_of(&next), 7_000_000_001);
        server.stop();
    }
}

fn a_source_that_has_grown_is_caught_up_with(kinds: [Kind; 2]) {
    let [from, to] = kinds.map(made);
    import(&from.url, "ndjson", &many(3)).succeeds();
    let (kept, lost) = (from.new_key("kept"), from.new_key("lost"));
    let server = Launch::on(&from).start();
    server.client().get("/v1/pets").key(&kept).send().is(200);
    copy(&from.url, &to.url);

    let once = server.client().add(&pet("Once")).key(&kept).header("idempotency-key", "once");
    once.send().is(201);
    from.keys(&["revoke", "lost"]).succeeds();
    from.new_key("later");
    server.stop();
    let said = copy(&from.url, &to.url);
    // The import has a record too.
    assert_eq!(
        said,
        "copied 1 animals (3 were there before), 3 API keys and 2 idempotency records\n"
    );
    verify(&from.url, &to.url);

    let server = Launch::on(&to).start();
    server.client().get("/v1/pets").key(&kept).send().is(200);
    server.client().get("/v1/pets").key(&lost).send().refuses(401, "unauthorized");
    catalogue::add(&server.client(), &pet("On the copy"));
    server.stop();
    let back = copy(&to.url, &from.url);
    assert!(back.starts_with("copied 1 animals (4 were there before)"), "{back}");
    verify(&to.url, &from.url);
}

fn a_target_with_other_data_is_refused_and_left_as_it_is(kinds: [Kind; 2]) {
    let source = [(1, "a"), (2, "b"), (4, "d")];
    let targets = [
        (
            vec![(1, "a"), (2, "x")],
            "animal 2 is \"b\" of category 1, without a status in the source",
        ),
        (
            vec![(2, "b")],
            "animal 1 is \"a\" of category 1, without a status in the source and noth",
        ),
        (
            vec![(1, "a"), (2, "b"), (3, "c")],
            "animal 3 is nothing in the source and \"c\" of categ",
        ),
        (
            vec![(1, "a"), (2, "b"), (4, "d"), (5, "e")],
            "animal 5 is nothing in the source and \"e\"",
        ),
    ];
    let lines = |pets: &[(i64, &str)]| -> String {
        let line =
            |(id, name): &(i64, &str)| json!({"id": id, "name": name, "categoryId": 1}).to_string();
        pets.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    for (target, difference) in targets {
        let [from, to] = kinds.map(made);
        import(&from.url, "ndjson", &lines(&source)).succeeds();
        from.new_key("web");
        import(&to.url, "ndjson", &lines(&target)).succeeds();
        let before = exported(&to.url, "ndjson");
        let words = ["--from", &from.url, "--to", &to.url];
        run(&[&["store", "copy"], &words[..]].concat()).fails(1, difference);
        run(&[&["store", "verify"], &words[..]].concat()).fails(1, "the stores differ: animal ");
        assert_eq!(exported(&to.url, "ndjson"), before);
        assert!(!to.keys(&["list"]).succeeds().contains("web"));
    }
}

fn a_target_with_a_key_of_its_own_is_refused(kinds: [Kind; 2]) {
    let [from, to] = kinds.map(made);
    import(&from.url, "ndjson", &many(1)).succeeds();
    from.new_key("web");
    to.new_key("default");
    let words = ["--from", &from.url, "--to", &to.url];
    run(&[&["store", "copy"], &words[..]].concat()).fails(1, "API key 1 is 'web' (pst_");
    assert_eq!(exported(&to.url, "ndjson"), "");
    run(&[&["store", "verify"], &words[..]].concat()).fails(1, "animal 1 is \"Rex 0\" of");
}

on_stores!(
    pairs:
    the_copy_takes_the_place_of_the_original,
    identifiers_above_the_highest_follow_a_copy_and_an_import_with_gaps,
    a_source_that_has_grown_is_caught_up_with,
    a_target_with_a_key_of_its_own_is_refused,
    a_target_with_other_data_is_refused_and_left_as_it_is,
);
