//! Entity tags: asking only for what has changed.

use crate::support::{
    catalogue::{add, id_of, pet, pet_with_status},
    client::Client,
    command::petstore,
    server::{Launch, Server},
    store::{Kind, Store, on_stores},
    wait,
};

on_stores! {
    every:
    equal_catalogues_have_equal_tags,
    an_addition_changes_the_tag_of_the_last_page_alone,
    a_full_last_page_changes_its_tag_when_a_further_page_comes,
}

on_stores! {
    lasting:
    tags_outlive_a_restart_and_a_copy_to_another_store,
    tags_are_those_of_a_public_url_whichever_instance_answers,
}

#[track_caller]
fn tag(client: &Client, target: &str) -> String {
    client.get(target).send().is(200).must("etag").to_owned()
}

fn equal_catalogues_have_equal_tags(kind: Kind) {
    let (_store, server) = Server::start(kind);
    let client = server.client();
    let ids = ["Rex", "Max"].map(|name| id_of(&add(&client, &pet_with_status(name, "sold"))));
    assert_eq!(ids, [1, 2]);
    // Digests made by another implementation.
    for (target, expected) in [
        ("/v1/pets/1", "W/\"Ug-Y-oyWhfKwMhyqaGhpTg\""),
        ("/v1/pets", "W/\"9q2iGAbn5HpcodCKnQaiYQ\""),
        ("/v1/pets?limit=1&status=sold", "W/\"7loWfjkv9_LeW3d3cpIqUQ\""),
        ("/v1/pets?status=pending", "W/\"LfUlTkCs7Mw_74A19ieJ-g\""),
    ] {
        assert_eq!(tag(&client, target), expected, "{target}");
        assert_eq!(tag(&client, target), expected, "{target} once more");
        assert_eq!(tag(&server.http2(), target), expected, "{target} over HTTP/2");
        assert_eq!(client.head(target).send().must("etag"), expected, "HEAD {target}");
    }
}

fn an_addition_changes_the_tag_of_the_last_page_alone(kind: Kind) {
    let (_store, server) = Server::start(kind);
    let client = server.client();
    for number in 0..5 {
        add(&client, &pet_with_status(&format!("n{number}"), "sold"));
    }
    let first = "/v1/pets?limit=2";
    let second = client.get(first).send().is(200).link("next").unwrap();
    let full = [first, &second, "/v1/pets?limit=4&status=sold", "/v1/pets/1"];
    let last = ["/v1/pets", "/v1/pets?limit=100", "/v1/pets?limit=6&status=sold"];
    let kept = full.map(|target| tag(&client, target));
    for number in 0..3 {
        let before = last.map(|target| tag(&client, target));
        add(&client, &pet_with_status(&format!("newer {number}"), "sold"));
        for (target, tag) in full.iter().zip(&kept) {
            for call in [client.get(target), client.head(target)] {
                let unchanged = call.header("if-none-match", tag).send();
                assert_eq!((unchanged.status, unchanged.must("etag")), (304, &**tag), "{target}");
            }
        }
        for (target, tag) in last.iter().zip(&before).take(if number == 0 { 3 } else { 2 }) {
            let changed = client.get(target).header("if-none-match", tag).send().is(200);
            assert_ne!(changed.must("etag"), tag, "{target}");
        }
    }
}

fn a_full_last_page_changes_its_tag_when_a_further_page_comes(kind: Kind) {
    let (_store, server) = Server::start(kind);
    let client = server.client();
    let target = "/v1/pets?limit=2";
    add(&client, &pet("one"));
    let part = client.get(target).send().is(200);
    add(&client, &pet("two"));
    let whole = client.get(target).header("if-none-match", part.must("etag")).send().is(200);
    add(&client, &pet("three"));
    let linked = client.get(target).header("if-none-match", whole.must("etag")).send().is(200);
    assert_eq!(linked.text(), whole.text());
    assert!(whole.link("next").is_none() && linked.link("next").is_some());
    assert_ne!(linked.must("etag"), whole.must("etag"));
    assert_ne!(whole.must("etag"), part.must("etag"));
}

#[test]
fn a_tag_belongs_to_one_representation() {
    let (_store, server) = Server::in_memory();
    let client = server.client();
    for n in 0..3 {
        add(&client, &pet_with_status(&format!("n{n}"), "sold"));
    }
    let one = tag(&client, "/v1/pets?limit=1");
    for target in ["/v1/pets?limit=2", "/v1/pets/1"] {
        assert_ne!(tag(&client, target), one, "{target}");
    }
}

#[test]
fn a_known_tag_is_answered_without_a_body() {
    let store = Store::memory();
    let server = Launch::on(&store).start();
    let client = server.client();
    let id = id_of(&add(&client, &pet("known")));
    for target in ["/v1/pets".to_owned(), format!("/v1/pets/{id}")] {
        let tag = tag(&client, &target);
        for known in [
            tag.clone(),
            tag.strip_prefix("W/").unwrap().to_owned(),
            format!("\"other\", {tag}"),
            format!("\"other\",{tag} , \"x,y\""),
            "*".to_owned(),
        ] {
            for call in [client.get(&target), client.head(&target)] {
                let answer = call.header("if-none-match", &known).send();
                assert_eq!(answer.status, 304, "{known}: {answer:?}");
                assert_eq!(answer.must("etag"), tag);
            }
        }
        let lines = client.get(&target).header("if-none-match", "\"other\"");
        lines.header("if-none-match", &tag).send().is(304);
    }
}

#[test]
fn an_unknown_tag_gets_the_whole_answer() {
    let (_store, server) = Server::in_memory();
    let client = server.client();
    let id = id_of(&add(&client, &pet("unknown")));
    for target in ["/v1/pets".to_owned(), format!("/v1/pets/{id}")] {
        let tag = tag(&client, &target);
        let opaque = tag.trim_matches('"');
        for unknown in ["\"other\"", "\"\"", "", "nonsense", opaque, &format!("\"{opaque}x\"")] {
            let answer = client.get(&target).header("if-none-match", unknown).send();
            assert_eq!(answer.status, 200, "{unknown}: {answer:?}");
            assert!(!answer.body.is_empty());
        }
    }
}

#[test]
fn no_tag_matches_an_animal_that_does_not_exist() {
    let (_store, server) = Server::in_memory();
    let client = server.client();
    let id = id_of(&add(&client, &pet("only")));
    let tag = tag(&client, &format!("/v1/pets/{id}"));
    for known in [&tag, "*"] {
        for absent in [format!("/v1/pets/{}", id + 1), "/v1/pets/0".into(), "/v1/pets/x".into()] {
            let call = client.get(&absent).header("if-none-match", known);
            call.send().refuses(404, "pet_not_found");
            client.head(&absent).header("if-none-match", known).send().is(404);
        }
    }
}

/// A full page, a last page, an empty one, and an animal.
const TARGETS: [&str; 4] =
    ["/v1/pets?limit=2", "/v1/pets", "/v1/pets?status=pending", "/v1/pets/1"];

fn tags_outlive_a_restart_and_a_copy_to_another_store(kind: Kind) {
    let (store, server) = Server::start(kind);
    for name in ["one", "two", "three"] {
        add(&server.client(), &pet(name));
    }
    let tags = TARGETS.map(|target| tag(&server.client(), target));
    server.stop();

    let copy = Store::sqlite();
    petstore(&["store", "copy", "--from", &store.url, "--to", &copy.url]).finish().succeeds();
    for store in [&store, &copy] {
        let server = Launch::on(store).start();
        for (target, tag) in TARGETS.iter().zip(&tags) {
            let again = server.client().get(target).header("if-none-match", tag).send().is(304);
            assert_eq!(again.must("etag"), tag);
        }
        add(&server.client(), &pet("newer"));
        server.client().get(TARGETS[1]).header("if-none-match", &tags[1]).send().is(200);
    }
}

fn tags_are_those_of_a_public_url_whichever_instance_answers(kind: Kind) {
    const URL: &str = "https://pets.example/zoo/v1";
    let store = Store::new(kind);
    let [one, two, elsewhere] = [Some(URL), Some(URL), None].map(|url| {
        let launch = Launch::on(&store);
        match url {
            Some(url) => launch.flag("--public-url", url).start(),
            None => launch.start(),
        }
    });
    for name in ["one", "two", "three"] {
        add(&one.client(), &pet(name));
    }
    for target in TARGETS {
        let expected = one.client().get(target).send().is(200);
        let tag = expected.must("etag");
        wait::until("the other instances show all", || {
            [&two, &elsewhere].iter().all(|server| {
                let answer = server.client().get(target).send();
                answer.status == 200 && answer.text() == expected.text()
            })
        });
        two.client().get(target).header("if-none-match", tag).send().is(304);
        let other = elsewhere.client().get(target).header("if-none-match", tag).send();
        assert_eq!(
            other.status,
            if expected.link("next").is_some() { 200 } else { 304 },
            "{target}"
        );
    }
}

#[test]
fn there_is_nothing_to_match_on_an_error() {
    let (_store, server) = Server::in_memory();
    let client = server.client();
    for (target, status, code) in [
        ("/v1/pets/0", 404, "pet_not_found"),
        ("/v1/pets/abc", 404, "pet_not_found"),
        ("/v1/pets?limit=0", 400, "invalid_query"),
        ("/v1/nope", 404, "route_not_found"),
    ] {
        let refusal = client.get(target).header("if-none-match", "*").send();
        assert_eq!(refusal.header("etag"), None, "{refusal:?}");
        refusal.refuses(status, code);
        client.get(target).header("if-none-match", "*").anonymous().send().is(401);
    }
}
