//! The service accepts exactly the bodies and headers that the document allows.

use serde_json::json;

use super::document::{Document, agree, integer};
use crate::support::catalogue::pet;

const NEW_PET: &str = "/components/schemas/NewPet";

#[test]
fn a_name_is_accepted_exactly_if_the_document_allows_it() {
    let (_server, client, document) = Document::with_server();
    let schema = document.at(NEW_PET);
    let longest = usize::try_from(integer(&schema["properties"]["name"], "maxLength")).unwrap();
    let mut names: Vec<String> = vec![" Rex ".into(), "<b>\"\\".into(), "e\u{301}".into()];
    for letter in ["a", "é", "🐕"] {
        names.extend([longest, longest + 1].map(|length| letter.repeat(length)));
    }
    // Every character that Unicode or a regular expression may count as white space, and every control character.
    let blanks = "\u{20}\u{a0}\u{1680}\u{180e}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{feff}\
                  \u{200b}\u{2060}\u{ad}";
    let chars = ('\0'..='\u{a1}').chain('\u{2000}'..='\u{200f}').chain(blanks.chars());
    names.extend(
        chars.flat_map(|c| [c.to_string(), format!("{c} "), format!("a{c}"), format!("{c}a")]),
    );
    names.push(String::new());
    let fits = document.checker(schema);
    for name in names {
        let body = json!({ "name": name, "categoryId": 1 });
        agree(&fits(&body), client.add(&body).send(), 201, "invalid_pet");
    }
}

#[test]
fn a_body_is_accepted_exactly_if_the_document_allows_it() {
    let (_server, client, document) = Document::with_server();
    let fits = document.checker(document.at(NEW_PET));
    for body in [
        r#"{"name":"Rex","categoryId":1}"#,
        r#"{"status":"sold","categoryId":1,"name":"Rex"}"#,
        r#"{"categoryId":1}"#,
        r#"{"name":"Rex"}"#,
        r#"{"name":"Rex","categoryId":1,"id":1}"#,
        r#"{"name":"Rex","categoryId":1,"colour":"red"}"#,
        r#"{"name":"Rex","categoryId":1,"status":null}"#,
        r#"{"name":null,"categoryId":1}"#,
        r#"{"name":"Rex","categoryId":null}"#,
        r#"{"name":"Rex","categoryId":"1"}"#,
        r#"{"name":"Rex","categoryId":1.5}"#,
        r#"{"name":"Rex","categoryId":true}"#,
        r#"{"name":1,"categoryId":1}"#,
        r#"{"name":["Rex"],"categoryId":1}"#,
        r#"{"name":"Rex","categoryId":1,"status":["sold"]}"#,
        r#"[{"name":"Rex","categoryId":1}]"#,
        "{}",
        "[]",
        "null",
        "\"Rex\"",
        "7",
    ] {
        let allowed = fits(&serde_json::from_str(body).unwrap());
        agree(&allowed, client.post("/v1/pets", body).send(), 201, "invalid_pet");
    }
}

#[test]
fn a_category_is_accepted_exactly_within_its_bounds() {
    let (_server, client, document) = Document::with_server();
    let category = &document.at(NEW_PET)["properties"]["categoryId"];
    let (least, most) = (integer(category, "minimum"), integer(category, "maximum"));
    let add = |number: i128| {
        client.post("/v1/pets", format!(r#"{{"name":"Rex","categoryId":{number}}}"#)).send()
    };
    for within in [least, -1, 0, most] {
        let added = add(within).is(201).json();
        assert_eq!(added["categoryId"].as_i64().map(i128::from), Some(within));
        document.fits(document.at("/components/schemas/Pet"), &added).unwrap();
    }
    for outside in [least - 1, most + 1] {
        add(outside).refuses(400, "invalid_pet");
    }
    // Identifiers have the bounds of a category. An identifier outside them is no error: it names no animal.
    let id = &document.at("/components/parameters/petId")["schema"];
    let all = &document.at("/components/schemas/Pet")["properties"];
    for bound in ["minimum", "maximum"] {
        assert_eq!(integer(id, bound), integer(category, bound));
        for property in ["id", "categoryId"] {
            assert_eq!(integer(&all[property], bound), integer(category, bound), "{property}");
        }
    }
}

#[test]
fn an_idempotency_key_is_accepted_exactly_if_the_document_allows_it() {
    let (_server, client, document) = Document::with_server();
    let fits = document.checker(&document.at("/components/parameters/Idempotency-Key")["schema"]);
    let quoted = |text: &str| format!("\"{text}\"");
    let long = "k".repeat(255);
    let mut keys = vec![String::new(), "a b".into(), "a\"b".into(), "a\"".into(), "\"a".into()];
    keys.extend(["", "a", "a b", "\"", "a\"b", &long, &format!("{long}k")].map(quoted));
    keys.extend([long.clone(), format!("{long}k")]);
    keys.extend((' '..='~').map(String::from));
    for key in keys {
        let allowed = fits(&json!(key));
        let answer = client.add(&pet("keyed")).header("idempotency-key", &key).send();
        agree(&allowed, answer, 201, "invalid_idempotency_key");
    }
}
