//! Compressed answers: for those who ask, under the same tag, and with the same content.

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
/// Targets with answers of more than 1 KiB.
const LARGE: [&str; 4] = ["/v1/pets?limit=40", "/v1/pets/1", "/openapi.json", "/docs"];

/// A catalogue whose first animal alone has more than 1 KiB.
fn stock(client: &Client) {
    let first = add(client, &pet(&"𓃠".repeat(255)));
    assert_eq!(id_of(&first), 1);
    for number in 1..ANIMALS {
        add(client, &pet(&format!("Rex {number}")));
    }
}

fn accepting(coding: &str, call: Call) -> Answer {
    call.header("accept-encoding", coding).send()
}

#[track_caller]
fn decompressed(answer: &Answer) -> Vec<u8> {
    assert_eq!(answer.must("content-encoding"), "gzip");
    let mut content = Vec::new();
    GzDecoder::new(answer.body.as_slice()).read_to_end(&mut content).unwrap();
    content
}

#[test]
fn a_body_of_more_than_1_kib_is_compressed_for_those_who_ask() {
    let (_store, server) = Server::in_memory();
    stock(&server.client());
    for client in [server.client(), server.http2()] {
        for target in LARGE {
            let plain = client.get(target).send().is(200);
            assert_eq!(plain.header("content-encoding"), None);
            // The second comes from the cache.
            for _ in 0..2 {
                let answer = accepting("gzip", client.get(target)).is(200);
                assert!(decompressed(&answer) == plain.body, "{target}");
                assert!(answer.body.len() < plain.body.len(), "{target}");
                assert_eq!(answer.must("content-length"), answer.body.len().to_string());
                assert_eq!(answer.must("etag"), plain.must("etag"), "{target}");
                assert_eq!(answer.must("content-type"), plain.must("content-type"));
                assert_eq!(answer.header("link"), plain.header("link"));
                let head = accepting("gzip", client.head(target)).is(200);
                assert_eq!(head.lasting_headers(), answer.lasting_headers(), "{target}");
            }
            for accepted in ["identity", "br", "zstd", "*", "gzip;q=0", "identity, gzip;q=0.9", ""]
            {
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
        let answer = accepting("gzip", call).is(status);
        assert_eq!(answer.header("content-encoding"), None);
        answer.json();
    }
}

#[test]
fn one_weak_tag_stands_for_both_forms() {
    let (_store, server) = Server::in_memory();
    let client = server.client();
    stock(&client);
    for target in LARGE {
        let tag = client.get(target).send().must("etag").to_owned();
        assert!(tag.starts_with("W/"), "{tag}");
        let strong = tag.strip_prefix("W/").unwrap();
        for accepted in ["gzip", "identity", "gzip;q=0"] {
            for condition in [&tag, strong, &format!("\"other\", {tag}"), "*"] {
                for call in [client.get(target), client.head(target)] {
                    let call = call.header("accept-encoding", accepted);
                    let answer = call.header("if-none-match", condition).send().is(304);
                    assert_eq!(answer.must("etag"), tag, "{target}: {accepted}");
                    assert_eq!(answer.header("content-encoding"), None);
                }
            }
        }
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
            let list = accepting("gzip", client.get("/v1/pets?limit=100")).is(200);
            let text = String::from_utf8(decompressed(&list)).unwrap();
            assert!(text.contains(&format!("\"id\":{newest},")), "{memory}: {text}");
            let again = client.get("/v1/pets?limit=100");
            let again = again.header("if-none-match", list.must("etag"));
            assert_eq!(accepting("gzip", again).status, 304);
        }
    }
}
