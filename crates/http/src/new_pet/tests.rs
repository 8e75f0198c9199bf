use petstore_domain::{CategoryId, NewPet, PetName, PetStatus};
use proptest::prelude::*;

use super::parse;
use crate::error::ErrorCode;

fn refused(body: impl AsRef<[u8]>) -> (ErrorCode, String) {
    let refusal = parse(body.as_ref()).unwrap_err();
    (refusal.code, format!("{refusal:?}"))
}

#[test]
fn a_new_pet_is_read_as_it_is() {
    let pet = |name, category, status| NewPet {
        name: PetName::parse(name).unwrap(),
        category_id: CategoryId(category),
        status,
    };
    let table = [
        (r#"{"name":"Rex","categoryId":1}"#, pet("Rex", 1, None)),
        (
            " {\"status\" : \"sold\",\n\"categoryId\":-1, \"name\":\" Rex \"}\t",
            pet(" Rex ", -1, Some(PetStatus::Sold)),
        ),
        (
            r#"{"name":"\u00e9\ud83d\udc15\"\\\/","categoryId":9223372036854775807}"#,
            pet("é🐕\"\\/", i64::MAX, None),
        ),
        (r#"{"n\u0061me":"x","categoryId":-9223372036854775808}"#, pet("x", i64::MIN, None)),
        (r#"{"name":"x","categoryId":-0}"#, pet("x", 0, None)),
    ];
    for (body, expected) in table {
        assert_eq!(parse(body.as_bytes()).unwrap(), expected, "{body}");
    }
}

#[test]
fn what_is_not_one_json_document_is_invalid_json() {
    let deep = "[".repeat(60_000);
    let table: [&[u8]; 16] = [
        b"",
        b" ",
        b"{",
        b"nothing",
        b"{'name':'x'}",
        b"{\"name\":\"x\",}",
        b"{\"name\":\"x\",\"categoryId\":01}",
        b"{\"name\":\"x\",\"categoryId\":+1}",
        b"{\"name\":\"x\",\"categoryId\":1} {}",
        b"{\"name\":\"x\",\"categoryId\":1}\0",
        b"{\"name\":\"a\nb\",\"categoryId\":1}",
        b"{\"name\":\"\\x\",\"categoryId\":1}",
        b"\xef\xbb\xbf{\"name\":\"x\",\"categoryId\":1}",
        b"{\"name\":\"\xff\",\"categoryId\":1}",
        b"{\"name\":\"\xed\xa0\x80\",\"categoryId\":1}",
        deep.as_bytes(),
    ];
    for body in table {
        let (code, message) = refused(body);
        assert_eq!(code, ErrorCode::InvalidJson, "{message}");
    }
}

#[test]
fn json_of_another_shape_is_an_invalid_pet() {
    let table = [
        (r#"["Rex",7]"#, "must be a JSON object, but is an array"),
        ("null", "must be a JSON object, but is null"),
        ("\"Rex\"", "must be a JSON object, but is a string"),
        ("7", "must be a JSON object, but is a number"),
        ("{}", "`name`: is required; `categoryId`: is required"),
        (r#"{"name":null,"categoryId":1}"#, "`name`: must be a string, but is null"),
        (r#"{"name":"x","categoryId":null}"#, "in plain digits, but is null"),
        (r#"{"name":"x","categoryId":"1"}"#, "in plain digits, but is a string"),
        (r#"{"name":"x","categoryId":1,"status":null}"#, "`status`: must be a string, but is null"),
        (r#"{"name":"x","categoryId":1,"status":"Sold"}"#, "`status`: must be one of available"),
        (r#"{"name":"x","categoryId":5.0}"#, "`categoryId`: must be a whole number"),
        (r#"{"name":"x","categoryId":1e2}"#, "`categoryId`: must be a whole number"),
        (
            r#"{"name":"x","categoryId":9223372036854775808}"#,
            "`categoryId`: must be a whole number",
        ),
        (
            r#"{"name":"x","categoryId":-9223372036854775809}"#,
            "`categoryId`: must be a whole number",
        ),
        (r#"{"name":"x","categoryId":1,"id":1}"#, "`id`: is assigned by the service"),
        (r#"{"name":"x","categoryId":1,"age":{"a":[1]}}"#, "`age`: unknown field"),
        (r#"{"name":"x","name":"x","categoryId":1}"#, "`name`: must be given once"),
        (r#"{"name":"x","n\u0061me":"y","categoryId":1}"#, "`name`: must be given once"),
        (r#"{"name":"\ud83d","categoryId":1}"#, "has half a surrogate pair"),
        (r#"{"name":"a\u0000","categoryId":1}"#, "has U+0000 at index 1"),
        (r#"{"name":["x"],"categoryId":1}"#, "`name`: must be a string, but is an array"),
        (r#"{"name":true,"categoryId":1}"#, "`name`: must be a string, but is a boolean"),
    ];
    for (body, expected) in table {
        let (code, message) = refused(body);
        assert_eq!(code, ErrorCode::InvalidPet, "{body}: {message}");
        assert!(message.contains(expected), "{body}: {message}");
    }
}

#[test]
fn every_fault_is_named_in_one_answer() {
    let (_, message) =
        refused(r#"{"name":"\t","name":1,"categoryId":1.5,"status":"lost","id":7,"colour":"red"}"#);
    for fault in [
        "`name`: must not be white space alone, and must not have control characters",
        "`name`: must be given once",
        "`categoryId`: must be a whole number",
        "`status`: must be one of",
        "`id`: is assigned",
        "`colour`: unknown field",
    ] {
        assert!(message.contains(fault), "{fault}: {message}");
    }
}

#[test]
fn an_answer_stays_short_however_long_the_body_is() {
    let many: Vec<String> = (0..5000).map(|n| format!("\"x{n}\":1")).collect();
    let (_, message) = refused(format!("{{{}}}", many.join(",")));
    assert!(message.contains("and 4970 more"), "{message}");
    let (_, message) = refused(format!("{{\"{}\":1}}", "y".repeat(60_000)));
    assert!(message.len() < 400, "{message}");
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(body: Vec<u8>, text in "[{}\\[\\]\",:a-z0-9\\\\u.-]{0,40}") {
        let _ = parse(&body);
        let _ = parse(text.as_bytes());
    }

    #[test]
    fn any_json_string_is_read_as_its_characters(name in "\\PC{1,40}") {
        prop_assume!(PetName::parse(name.clone()).is_ok());
        let body = serde_json::json!({ "name": name, "categoryId": 3 }).to_string();
        let pet = parse(body.as_bytes()).unwrap();
        prop_assert_eq!(pet.name.as_str(), name);
    }
}
