//! Bodies are taken strictly.

use crate::support::{catalogue::everything, server::Server, shared};

#[test]
fn what_is_not_one_json_document_is_invalid_json() {
    let (_store, server) = Server::in_memory();
    let good = r#"{"name":"a","categoryId":1}"#;
    let utf16: Vec<u8> = good.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let bodies = [
        Vec::new(),
        b" \n".to_vec(),
        b"{".to_vec(),
        b"name=a".to_vec(),
        b"{'name':'a','categoryId':1}".to_vec(),
        b"{\"name\":\"a\",\"categoryId\":1,}".to_vec(),
        b"{\"name\":\"a\",\"categoryId\":01}".to_vec(),
        b"{\"name\":\"a\",\"categoryId\":+1}".to_vec(),
        b"{\"name\":\"a\",\"categoryId\":NaN}".to_vec(),
        b"{\"name\":\"a\nb\",\"categoryId\":1}".to_vec(),
        b"{\"name\":\"\\x41\",\"categoryId\":1}".to_vec(),
        b"{\"name\":\"\xff\",\"categoryId\":1}".to_vec(),
        b"{\"name\":\"\xc0\xaf\",\"categoryId\":1}".to_vec(),
        b"{\"name\":\"\xed\xa0\x80\",\"categoryId\":1}".to_vec(),
        b"{\"name\":\"a\",/* one */\"categoryId\":1}".to_vec(),
        format!("{good}x").into_bytes(),
        format!("{good}{good}").into_bytes(),
        format!("{good},").into_bytes(),
        format!("{good}\0").into_bytes(),
        format!("\u{feff}{good}").into_bytes(),
        "[".repeat(30_000).into_bytes(),
        utf16,
    ];
    for body in bodies {
        server.client().post("/v1/pets", body).send().refuses(400, "invalid_json");
    }
    assert!(everything(&server.client()).is_empty());
}

#[test]
fn json_that_is_not_an_animal_is_invalid_pet() {
    let (_store, server) = Server::in_memory();
    let long = format!(r#"{{"name":"a","categoryId":{}}}"#, "9".repeat(1000));
    let bodies = [
        ("null", ""),
        ("5", ""),
        ("true", ""),
        (r#""name""#, ""),
        ("[]", ""),
        (r#"[{"name":"a","categoryId":1}]"#, ""),
        ("{}", "name"),
        (r#"{"categoryId":1}"#, "name"),
        (r#"{"name":"a"}"#, "categoryId"),
        (r#"{"name":"a","categoryId":1,"id":7}"#, "id"),
        (r#"{"name":"a","categoryId":1,"colour":"red"}"#, "colour"),
        (r#"{"name":"a","categoryId":1,"Status":"sold"}"#, "Status"),
        (r#"{"name":"a","category_id":1}"#, "category_id"),
        (r#"{"name":"a","name":"a","categoryId":1}"#, "name"),
        (r#"{"name":"a","categoryId":1,"categoryId":1}"#, "categoryId"),
        (r#"{"name":"a","categoryId":1,"status":"sold","status":"sold"}"#, "status"),
        (r#"{"name":"a","n\u0061me":"b","categoryId":1}"#, "name"),
        (r#"{"name":null,"categoryId":1}"#, "name"),
        (r#"{"name":"a","categoryId":null}"#, "categoryId"),
        (r#"{"name":"a","categoryId":1,"status":null}"#, "status"),
        (r#"{"name":"a","categoryId":5.5}"#, "categoryId"),
        (r#"{"name":"a","categoryId":1e-1}"#, "categoryId"),
        (r#"{"name":"a","categoryId":1E400}"#, "categoryId"),
        (r#"{"name":"a","categoryId":9223372036854775808}"#, "categoryId"),
        (r#"{"name":"a","categoryId":-9223372036854775809}"#, "categoryId"),
        (r#"{"name":"a","categoryId":"1"}"#, "categoryId"),
        (r#"{"name":"a","categoryId":true}"#, "categoryId"),
        (r#"{"name":"a","categoryId":[1]}"#, "categoryId"),
        (r#"{"name":5,"categoryId":1}"#, "name"),
        (r#"{"name":["a"],"categoryId":1}"#, "name"),
        (r#"{"name":{},"categoryId":1}"#, "name"),
        (r#"{"name":"","categoryId":1}"#, "name"),
        (r#"{"name":" \t\u00a0\u3000","categoryId":1}"#, "name"),
        (r#"{"name":"a\u0000","categoryId":1}"#, "name"),
        (r#"{"name":"a\n","categoryId":1}"#, "name"),
        (r#"{"name":"\u001fa","categoryId":1}"#, "name"),
        (r#"{"name":"a\u007fb","categoryId":1}"#, "name"),
        (r#"{"name":"a\u0080b","categoryId":1}"#, "name"),
        (r#"{"name":"a\u009fb","categoryId":1}"#, "name"),
        (r#"{"name":"a","categoryId":1,"status":"gone"}"#, "status"),
        (r#"{"name":"a","categoryId":1,"status":"Sold"}"#, "status"),
        (r#"{"name":"a","categoryId":1,"status":""}"#, "status"),
        (r#"{"name":"a","categoryId":1,"status":1}"#, "status"),
        (r#"{"name":"a","categoryId":1,"status":["sold"]}"#, "status"),
        (&long, "categoryId"),
    ];
    for (body, field) in bodies {
        let refusal = server.client().post("/v1/pets", body).send().refuses(400, "invalid_pet");
        assert!(refusal.message().contains(field), "{body}: {refusal:?}");
    }
    assert!(everything(&server.client()).is_empty());
}

#[test]
fn every_fault_is_named_in_one_answer() {
    let client = shared::server().client();
    for (body, words) in [
        (
            r#"{"id":1,"name":"","categoryId":5.5,"status":"gone","colour":"red"}"#,
            &["id", "name", "categoryId", "status", "colour", "available", "pending", "sold"][..],
        ),
        (r#"{"name":null,"name":"a","status":null}"#, &["name", "categoryId", "status"]),
        (r#"{"a":1,"b":2}"#, &["a", "b", "name", "categoryId"]),
        ("{}", &["name", "categoryId"]),
    ] {
        let refusal = client.post("/v1/pets", body).send().refuses(400, "invalid_pet");
        let message = refusal.message();
        for word in words {
            assert!(message.contains(word), "{word} is missing: {message}");
        }
    }
}

#[test]
fn a_deep_document_is_refused_and_does_no_harm() {
    let client = shared::server().client();
    let arrays = "[".repeat(30_000) + "]".repeat(30_000).as_str();
    let bodies = [
        arrays.clone(),
        format!(r#"{{"name":{arrays},"categoryId":1}}"#),
        format!(r#"{{"name":"a","categoryId":1,"x":{arrays}}}"#),
        r#"{"a":"#.repeat(10_000) + "1" + "}".repeat(10_000).as_str(),
    ];
    for body in bodies {
        let refusal = client.post("/v1/pets", body).send().is(400).json();
        let code = refusal["code"].as_str().unwrap();
        assert!(["invalid_json", "invalid_pet"].contains(&code), "{code}");
    }
}

#[test]
fn a_lone_surrogate_is_refused() {
    let body = r#"{"name":"\ud800","categoryId":1}"#;
    shared::server().client().post("/v1/pets", body).send().is(400);
}
