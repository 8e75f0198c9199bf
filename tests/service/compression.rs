//! Compressed answers: for those who ask, with a tag of their own, and the same content.

use std::io::Read as _;

use flate2::read::GzDecoder;

use crate::support::{
    answer::Answer,
    catalogue::{add, id_of, pet},
    client::{Call, Client},
    server::{Launch, Server},
    store::Store,
};

/// A list of so many animals of this kind has more than 1 KiB.
const ANIMALS: usize = 40;
/// What has more than 1 KiB.
const LARGE: [&str; 4] = ["/v1/pets?limit=40", "/v1/pets/1", "/openapi.json", "/docs"];

/// A catalogue whose first animal alone has more than 1 KiB.
fn stock(client: &Client) {
    let first = add(client, &pet(&"𓃠".repeat(255)));
    assert_eq!(id_of(&first), 1);
    for number in 1..ANIMALS {
        add(client, &pet(&format!("Rex {number}")));
    }
}

/// The codings, and what has a form of each.
const CODINGS: [(&str, &[&str]); 2] =
    [("gzip", &LARGE), ("zstd", &["/v1/pets?limit=40", "/v1/pets/1", "/openapi.json"])];

fn accepting(coding: &str, call: Call) -> Answer {
    call.header("accept-encoding", coding).send()
}

#[track_caller]
fn decompressed(answer: &Answer) -> Vec<u8> {
    let mut content = Vec::new();
    let read = match answer.must("content-encoding") {
        "gzip" => GzDecoder::new(answer.body.as_slice()).read_to_end(&mut content),
        "zstd" => zstd::Decoder::new(answer.body.as_slice()).unwrap().read_to_end(&mut content),
        other => panic!("{other}"),
    };
    assert_eq!(read.unwrap(), content.len());
    content
}

/// Each coding with each target that has a form of it.
fn forms() -> impl Iterator<Item = (&'static str, &'static str)> {
    CODINGS
        .into_iter()
        .flat_map(|(coding, targets)| targets.iter().map(move |target| (coding, *target)))
}

#[test]
fn a_body_of_more_than_1_kib_is_compressed_for_those_who_ask() {
    let (_store, server) = Server::in_memory();
    stock(&server.client());
    for client in [server.client(), server.http2()] {
        for (coding, target) in forms() {
            let plain = client.get(target).send().is(200);
            assert_eq!(plain.header("content-encoding"), None);
            // The second comes from the cache.
            for _ in 0..2 {
                let answer = accepting(coding, client.get(target)).is(200);
                assert_eq!(answer.must("content-encoding"), coding);
                assert!(decompressed(&answer) == plain.body, "{target}");
                assert!(answer.body.len() < plain.body.len(), "{target}");
                assert_eq!(answer.must("content-length"), answer.body.len().to_string());
                assert_ne!(answer.must("etag"), plain.must("etag"), "{target}");
                assert_eq!(answer.must("content-type"), plain.must("content-type"));
                assert_eq!(answer.header("link"), plain.header("link"));
                let head = accepting(coding, client.head(target)).is(200);
                assert_eq!(head.lasting_headers(), answer.lasting_headers(), "{target}");
            }
            for accepted in ["identity", "br", "gzip;q=0", "zstd;q=0", "identity, gzip;q=0.9", ""] {
                let answer = client.get(target).header("accept-encoding", accepted).send();
                assert_eq!(answer.lasting_headers(), plain.lasting_headers(), "{accepted}");
                assert!(answer.body == plain.body, "{accepted}: {target}");
            }
        }
    }
}

#[test]
fn what_is_small_or_an_error_is_left_as_it_is() {
    let (_store, server) = Server::in_memory();
    let client = server.client();
    for number in 0..3 {
        add(&client, &pet(&format!("Rex {number}")));
    }
    let wrong = format!("/v1/pets?{}=1", "x".repeat(2000));
    for (call, status) in [
        (client.get("/v1/pets"), 200),
        (client.get("/v1/pets/1"), 200),
        (client.get("/livez"), 200),
        (client.get(&wrong), 400),
        (client.get("/v1/nothing"), 404),
        (client.add(&pet(&"𓃠".repeat(255))), 201),
    ] {
        let answer = accepting("gzip, zstd", call).is(status);
        assert_eq!(answer.header("content-encoding"), None);
        answer.json();
    }
}

#[test]
fn the_preferred_coding_that_there_is_is_sent() {
    let (_store, server) = Server::in_memory();
    let client = server.client();
    stock(&client);
    for (target, accepted, sent) in [
        ("/v1/pets?limit=40", "gzip, deflate, br, zstd", "zstd"),
        ("/v1/pets?limit=40", "gzip, zstd;q=0.9", "gzip"),
        ("/openapi.json", "gzip, deflate, br, zstd", "zstd"),
        ("/docs", "gzip, deflate, br, zstd", "gzip"),
    ] {
        let answer = accepting(accepted, client.get(target)).is(200);
        assert_eq!(answer.must("content-encoding"), sent, "{target}: {accepted}");
    }
    assert_eq!(accepting("zstd", client.get("/docs")).is(200).header("content-encoding"), None);
}

#[test]
fn each_form_is_known_by_its_tag() {
    let (_store, server) = Server::in_memory();
    let client = server.client();
    stock(&client);
    for (coding, target) in forms() {
        let plain_tag = client.get(target).send().must("etag").to_owned();
        let tag = accepting(coding, client.get(target)).must("etag").to_owned();
        assert!(!tag.starts_with("W/"), "a strong tag: {tag}");
        let both = format!("{plain_tag}, {tag}");
        // One who takes the coding may go on using either form; one who does not, the plain one alone.
        for (accepted, condition, expected) in [
            (coding, &tag, Some(&tag)),
            (coding, &format!("W/{tag}"), Some(&tag)),
            (coding, &plain_tag, Some(&plain_tag)),
            (coding, &both, Some(&tag)),
            ("zstd;q=0.1, gzip;q=0.2", &tag, Some(&tag)),
            ("identity", &plain_tag, Some(&plain_tag)),
            ("identity", &both, Some(&plain_tag)),
            ("identity", &tag, None),
            ("gzip;q=0, zstd;q=0", &tag, None),
        ] {
            for call in [client.get(target), client.head(target)] {
                let call = call.header("accept-encoding", accepted);
                let answer = call.header("if-none-match", condition).send();
                let (status, tag) = expected.map_or((200, &plain_tag), |tag| (304, tag));
                assert_eq!(answer.status, status, "{target}: {accepted}: {condition}");
                assert_eq!(answer.must("etag"), tag, "{target}: {accepted}");
                assert_eq!(answer.header("content-encoding"), None);
            }
        }
    }
}

#[test]
fn who_names_no_form_is_told_the_tag_of_one_that_there_is() {
    let (_store, server) = Server::in_memory();
    let client = server.client();
    add(&client, &pet("too small to be compressed"));
    for (target, form) in [("/v1/pets/1", "identity"), ("/docs", "gzip"), ("/openapi.json", "zstd")]
    {
        let tag = accepting(form, client.get(target)).must("etag").to_owned();
        let any = client.get(target).header("if-none-match", "*");
        let answer = accepting("gzip, zstd", any).is(304);
        assert_eq!(answer.must("etag"), tag, "{target}");
    }
}

#[test]
fn a_compressed_list_is_as_new_as_any() {
    for memory in ["0", "4KiB", "16MiB"] {
        let store = Store::memory();
        let server = Launch::on(&store).flag("--page-cache", memory).start();
        let client = server.client();
        stock(&client);
        for number in 0..5 {
            let newest = id_of(&add(&client, &pet(&format!("newest {number}"))));
            for (coding, _) in CODINGS {
                let list = accepting(coding, client.get("/v1/pets?limit=100")).is(200);
                let text = String::from_utf8(decompressed(&list)).unwrap();
                assert!(text.contains(&format!("\"id\":{newest},")), "{memory}: {text}");
                let again = client.get("/v1/pets?limit=100");
                let again = again.header("if-none-match", list.must("etag"));
                assert_eq!(accepting(coding, again).status, 304);
            }
        }
    }
}
