//! Query strings are taken strictly.

use crate::support::{
    catalogue::{add, id_of, pet},
    shared,
};

#[test]
fn a_bad_limit_is_refused_with_what_is_allowed() {
    let too_large = "9".repeat(30);
    let values = [
        "", "0", "101", "-1", "+5", "%2B5", "05", "00", "5.0", "%205", "5%20", "5%0A", "1e1",
        "five", "0x5", "%D9%A5", "%FF", "5,6", &too_large,
    ];
    let server = shared::server();
    for value in values {
        let target = format!("/v1/pets?limit={value}");
        let refusal = server.client().get(&target).send().refuses(400, "invalid_query");
        let message = refusal.message();
        for word in ["limit", "1", "100"] {
            assert!(message.contains(word), "{value}: {message}");
        }
    }
}

#[test]
fn a_bad_status_is_refused_with_what_is_allowed() {
    for value in ["", "Available", "SOLD", "gone", "sold%20", "available,sold", "null", "%00"] {
        let target = format!("/v1/pets?limit=5&status={value}");
        let refusal = shared::server().client().get(&target).send().refuses(400, "invalid_query");
        let message = refusal.message();
        for word in ["status", "available", "pending", "sold"] {
            assert!(message.contains(word), "{value}: {message}");
        }
    }
}

#[test]
fn an_unreadable_cursor_is_refused() {
    let long = "A".repeat(129);
    let values = ["", "x", "0", "%00", "%FF", "AAAAAAAAAAAAAAAAAAAAAAAA", "=", "%20", &long];
    for value in values {
        let target = format!("/v1/pets?cursor={value}");
        let refusal = shared::server().client().get(&target).send().refuses(400, "invalid_query");
        assert!(refusal.message().contains("cursor"), "{value}: {refusal:?}");
    }
}

#[test]
fn an_unknown_parameter_is_refused_by_name() {
    for (query, name) in [
        ("page=2", "page"),
        ("offset=0&limit=5", "offset"),
        ("Limit=5", "Limit"),
        ("limits=5", "limits"),
        ("limit[]=5", "limit[]"),
        ("api_key=black-box-suite-0123456789", "api_key"),
        ("sort", "sort"),
    ] {
        let target = format!("/v1/pets?{query}");
        let refusal = shared::server().client().get(&target).send().refuses(400, "invalid_query");
        let message = refusal.message();
        for word in [name, "limit", "status", "cursor"] {
            assert!(message.contains(word), "{query}: {message}");
        }
        assert!(!message.contains("black-box"), "{message}");
    }
}

#[test]
fn a_repeated_parameter_is_refused_by_name() {
    for (query, name) in [
        ("limit=5&limit=5", "limit"),
        ("limit=5&status=sold&limit=6", "limit"),
        ("status=sold&status=sold", "status"),
        ("status=sold&status=pending", "status"),
        ("limit=5&%6Cimit=5", "limit"),
    ] {
        let target = format!("/v1/pets?{query}");
        let refusal = shared::server().client().get(&target).send().refuses(400, "invalid_query");
        assert!(refusal.message().contains(name), "{query}: {refusal:?}");
    }
}

#[test]
fn a_parameter_without_a_value_is_refused() {
    for query in ["limit", "status", "cursor", "limit=5&status", "limit&status=sold"] {
        let target = format!("/v1/pets?{query}");
        shared::server().client().get(&target).send().refuses(400, "invalid_query");
    }
}

#[test]
fn the_whole_range_is_taken() {
    for query in ["limit=1", "limit=100", "status=sold&limit=99", "status=pending", "limit=%35"] {
        shared::server().client().get(&format!("/v1/pets?{query}")).send().is(200);
    }
}

#[test]
fn the_other_operations_take_no_parameter() {
    let client = shared::server().client();
    let id = id_of(&add(&client, &pet("queried")));
    for query in ["x=1", "limit=5", "status=sold", "petId=1"] {
        let name = query.split('=').next().unwrap();
        for call in [
            client.get(&format!("/v1/pets/{id}?{query}")),
            client.post(&format!("/v1/pets?{query}"), pet("queried").to_string()),
        ] {
            let refusal = call.send().refuses(400, "invalid_query");
            assert!(refusal.message().contains(name), "{query}: {refusal:?}");
        }
        client.head(&format!("/v1/pets/{id}?{query}")).send().is(400);
    }
}
