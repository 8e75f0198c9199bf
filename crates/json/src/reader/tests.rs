use petstore_domain::{CategoryId, NewPet, PetId, PetName, PetStatus};
use proptest::{prelude::*, sample::select};

use super::{ReadError, read_new_pet, read_record};
use crate::fuzz;

/// Returns the reason why a JSON body is not an animal.
fn invalid_pet(body: impl AsRef<[u8]>) -> String {
    match read_new_pet(body.as_ref()).unwrap_err() {
        ReadError::InvalidPet(message) => message,
        ReadError::InvalidJson(message) => panic!("{message}"),
    }
}

#[test]
fn a_new_pet_is_read_unchanged() {
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
        (r#"{"name":"x","categoryId":-1E2}"#, pet("x", -100, None)),
    ];
    for (body, expected) in table {
        assert_eq!(read_new_pet(body.as_bytes()).unwrap(), expected, "{body}");
    }
}

#[test]
fn anything_but_one_json_document_is_invalid_json() {
    let good = r#"{"name":"x","categoryId":1}"#;
    let deep = "[".repeat(60_000);
    let utf16: Vec<u8> = good.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let table = [
        &b""[..],
        b" ",
        b"{\"name\":\"x\",\"categoryId\":1} {}",
        b"{\"name\":\"a\nb\",\"categoryId\":1}",
        b"\xef\xbb\xbf{\"name\":\"x\",\"categoryId\":1}",
        b"{\"name\":\"\xff\",\"categoryId\":1}",
        b"{\"name\":\"\xed\xa0\x80\",\"categoryId\":1}",
        &utf16,
        deep.as_bytes(),
    ];
    for body in table {
        let refusal = read_new_pet(body).unwrap_err();
        assert!(matches!(refusal, ReadError::InvalidJson(_)), "{refusal:?}");
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
        (r#"{"name":"x","categoryId":null}"#, "5807, in plain digits, but is null"),
        (r#"{"name":"x","categoryId":"1"}"#, "in plain digits, but is a string"),
        (r#"{"name":"x","categoryId":1,"status":null}"#, "`status`: must be a string, but is null"),
        (r#"{"name":"x","categoryId":1,"status":"Sold"}"#, "`status`: must be one of available"),
        (r#"{"name":"x","categoryId":5.5}"#, "`categoryId`: must be a whole number"),
        (r#"{"name":"x","categoryId":1,"Status":"sold"}"#, "`Status`: unknown field"),
        (r#"{"name":"x","categoryId":1,"status":["sold"]}"#, "`status`: must be a string, but is"),
        (r#"{"name":"","categoryId":1}"#, "`name`: must"),
        (r#"{"name":"x\u009fb","categoryId":1}"#, "`name`: must not have control characters"),
        (r#"{"name":"x","categoryId":1,"categoryId":1}"#, "`categoryId`: must be given once"),
        (r#"{"name":"x","categoryId":1,"id":1}"#, "`id`: is assigned by the service"),
        (r#"{"name":"x","categoryId":1,"age":{"a":[1]}}"#, "`age`: unknown field"),
        (r#"{"name":"x","n\u0061me":"y","categoryId":1}"#, "`name`: must be given once"),
        (r#"{"name":"\ud83d","categoryId":1}"#, "has half a surrogate pair"),
        (r#"{"name":"a\u0000","categoryId":1}"#, "has U+0000 at index 1"),
        (r#"{"\ud83d":1}"#, "the body must be a JSON object, but: "),
        (r#"{"name":["x"],"categoryId":1}"#, "`name`: must be a string, but is an array"),
        (r#"{"name":true,"categoryId":1}"#, "`name`: must be a string, but is a boolean"),
        (r#"{"name":false,"categoryId":1}"#, "`name`: must be a string, but is a boolean"),
    ];
    for (body, expected) in table {
        let message = invalid_pet(body);
        assert!(message.contains(expected), "{body}: {message}");
        // `read_record` refuses the text too, unless the body was refused for its `id` or its status `null`.
        let line = read_record(body.as_bytes()).map_err(|error| error.to_string());
        let expected = expected.replace("the body", "the line");
        let is_for_lines = body.contains("\"id\"") || body.contains("\"status\":null");
        assert_eq!(line.is_err_and(|error| error.contains(&expected)), !is_for_lines, "{body}");
    }
}

#[test]
fn a_deep_document_is_refused_and_overflows_no_stack() {
    let arrays = "[".repeat(30_000) + &"]".repeat(30_000);
    for body in [
        format!(r#"{{"name":{arrays},"categoryId":1}}"#),
        format!(r#"{{"name":"x","categoryId":1,"y":{arrays}}}"#),
        r#"{"y":"#.repeat(10_000) + "1" + &"}".repeat(10_000),
    ] {
        assert!(read_new_pet(body.as_bytes()).is_err());
    }
}

#[test]
fn a_message_is_short_for_a_long_body() {
    let many: Vec<String> = (0..5000).map(|n| format!("\"x{n}\":1")).collect();
    let message = invalid_pet(format!("{{{}}}", many.join(",")));
    assert!(message.ends_with("; and 4970 more"), "{message}");
    assert_eq!(message.matches("unknown field").count(), 32, "{message}");
    let message = invalid_pet(format!("{{\"{}\":1}}", "y".repeat(60_000)));
    assert!(message.len() < 400, "{message}");
}

#[test]
fn a_record_may_have_an_identifier() {
    let line = br#"{"categoryId":3,"id":9223372036854775806.0,"name":"Rex"}"#;
    let record = read_record(line).unwrap();
    assert_eq!(record.id, Some(PetId(i64::MAX - 1)));
    assert_eq!(record.pet.name.as_str(), "Rex");
}

#[test]
fn a_record_reports_the_field_errors_of_a_body_and_errors_of_the_identifier() {
    let table = [
        ("", "the line is empty; it must be a JSON object"),
        ("\u{feff}{}", "the line must begin with JSON, not with a byte-order mark"),
        ("nonsense", "the line must be one JSON document, but: expected ident at column 2"),
        (r#"{"name":"a","categoryId":1} {}"#, "the line must be one JSON document, but: trailing"),
        (
            r#"{"name":"a","categoryId":1,"tag":1}"#,
            "`tag`: unknown field; allowed are id, name, categoryId and status",
        ),
        (r#"{"id":0,"name":"a","categoryId":1}"#, "`id`: must be a whole number from 1 to 92"),
        (r#"{"id":1.5,"name":"a","categoryId":1}"#, "`id`: must be a whole number from 1 to 92"),
        (r#"{"id":9223372036854775807,"name":"a","categoryId":1}"#, "`id`: must be a whole"),
        (
            r#"{"id":null,"name":"a","categoryId":1}"#,
            "`id`: must be a whole number from 1 to 9223372036854775806, in plain digits, but is null",
        ),
        (r#"{"id":1,"id":1,"name":"a","categoryId":1}"#, "`id`: must be given once"),
        (
            r#"{"name":"a","categoryId":1,"status":null,"status":null}"#,
            "`status`: must be given once",
        ),
        (r#"{"name":" ","status":"x"}"#, "`name`: must not be white space alone; `status`: must"),
    ];
    for (line, error) in table {
        let found = read_record(line.as_bytes()).unwrap_err().to_string();
        assert!(found.starts_with(error), "{line}: {found}");
    }
    let found = read_record(b"{\xff}").unwrap_err();
    assert_eq!(found, ReadError::InvalidJson("the line must be UTF-8, but byte 1 is not".into()));
}

/// Returns valid and invalid values of fields.
fn values() -> Vec<&'static str> {
    let numbers = "0 -0 7 -7 5.0 1e2 01 9223372036854775806 9223372036854775807 9223372036854775808 \
        -9223372036854775808 -9223372036854775809";
    let others = r#"null true [1] {} "Rex" "" "\u0020" "sold" "Sold" "\ud83d" "\u00e9" "1""#;
    numbers.split(' ').chain(others.split(' ')).collect()
}

fn members() -> impl Strategy<Value = String> {
    let name = select(vec!["name", "categoryId", "status", "id", "n\\u0061me", "tag", "\\ud83d"]);
    let member = (name, select(values())).prop_map(|(name, value)| format!("\"{name}\":{value}"));
    prop::collection::vec(member, 0..5).prop_map(|members| format!("{{{}}}", members.join(",")))
}

/// Generates a valid body with up to two bytes replaced.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let body = r#"{"name":"Rex \u00e9","categoryId":-10,"status":"sold"}"#.as_bytes();
    let byte = prop_oneof![any::<u8>(), select(br#"{}[]":,\-+.eEu019 "#.to_vec())];
    prop::collection::vec((0..body.len(), byte), 0..3).prop_map(|changes| {
        let mut body = body.to_vec();
        for (index, byte) in changes {
            body[index] = byte;
        }
        body
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_body_and_a_line_are_read_alike(
        members in members(),
        mutated in mutated(),
        text in "[{}\\[\\]\",:a-z0-9\\\\u.-]{0,40}",
        bytes: Vec<u8>,
    ) {
        for text in [members.as_bytes(), &mutated, text.as_bytes(), &bytes] {
            fuzz::body(text);
        }
    }
}
