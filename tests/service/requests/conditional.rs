//! Entity tags and conditional requests.

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
    tags_stay_after_a_restart_and_a_copy_to_another_store,
    tags_depend_on_the_public_url_and_not_on_the_instance,
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
    // Another implementation computed these digests.
    for (target, expected) in [
        ("/v1/pets/1", "W/\"8mCc5OMISwa6LukKYlROkg\""),
        ("/v1/pets", "W/\"eq_p21ygJMYf7Uun97LO-Q\""),
        ("/v1/pets?limit=1&status=sold", "W/\"q5afF67OIsbmLEgGeSa-DA\""),
        ("/v1/pets?status=pending", "W/\"OTR_9AK2xT2DEVQRDjCsag\""),
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

/// A full page, a last page, an empty page, and an animal.
const TARGETS: [&str; 4] =
    ["/v1/pets?limit=2", "/v1/pets", "/v1/pets?status=pending", "/v1/pets/1"];

fn tags_stay_after_a_restart_and_a_copy_to_another_store(kind: Kind) {
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

fn tags_depend_on_the_public_url_and_not_on_the_instance(kind: Kind) {
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
