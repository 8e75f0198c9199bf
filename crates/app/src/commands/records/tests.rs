use petstore_domain::{CategoryId, NewPet, Pet, PetId, PetName, PetStatus};
use petstore_json::Record;
use proptest::prelude::*;

use super::{Format, RecordReader, header, write};

fn pet(name: &str, category: i64, status: Option<PetStatus>) -> NewPet {
    NewPet { name: PetName::parse(name).unwrap(), category_id: CategoryId(category), status }
}

fn written(format: Format, pet: &Pet) -> String {
    let mut text = Vec::new();
    write(format, pet, &mut text);
    String::from_utf8(text).unwrap()
}

fn reader(format: Format) -> RecordReader {
    match format {
        Format::Ndjson => RecordReader::Ndjson,
        Format::Csv => csv(header(format).trim_end()),
    }
}

fn csv(header: &str) -> RecordReader {
    RecordReader::csv(header.as_bytes(), ',').unwrap()
}

#[test]
fn an_animal_is_written_like_in_the_interface() {
    for (pet, json, csv) in [
        (
            pet("Rex", 2, Some(PetStatus::Sold)),
            r#"{"id":1,"name":"Rex","categoryId":2,"status":"sold"}"#,
            "1,Rex,2,sold",
        ),
        (
            pet("a \"b\", c", -1, None),
            r#"{"id":1,"name":"a \"b\", c","categoryId":-1}"#,
            "1,\"a \"\"b\"\", c\",-1,",
        ),
        (pet("x ", 0, None), r#"{"id":1,"name":"x ","categoryId":0}"#, "1,\"x \",0,"),
        (pet(" x", 0, None), r#"{"id":1,"name":" x","categoryId":0}"#, "1,\" x\",0,"),
    ] {
        let pet = pet.with_id(PetId(1));
        assert_eq!(written(Format::Ndjson, &pet), format!("{json}\n"));
        assert_eq!(written(Format::Csv, &pet), format!("{csv}\n"));
    }
}

#[test]
fn columns_may_come_in_any_order_and_two_may_be_missing() {
    let rex = pet("Rex", 2, Some(PetStatus::Sold));
    let record = Record { id: Some(PetId(7)), pet: rex.clone() };
    assert_eq!(csv("status,categoryId,name,id").read("sold,2,Rex,7".as_bytes()), Ok(record));
    let record = Record { id: None, pet: NewPet { status: None, ..rex } };
    assert_eq!(csv("name,categoryId").read("Rex,2".as_bytes()), Ok(record.clone()));
    assert_eq!(csv("id,name,categoryId,status").read(",\"Rex\",2,".as_bytes()), Ok(record));
}

#[test]
fn every_fault_of_a_csv_line_is_named() {
    let quoted = "a quoted field must be quoted whole and end on its line, and a quote";
    let category = "`categoryId`: must be a whole number from -9223372036854775808 to 92";
    let table = [
        ("1,a,2", "the line must have 4 fields, but has 3"),
        ("1,a,2,sold,", "the line must have 4 fields, but has 5"),
        ("", "the line is empty"),
        ("1,\"a,2,sold", quoted),
        ("1,a,2,\"sold", quoted),
        ("1,a,2,\"", quoted),
        ("1,\"a\"b,2,sold", quoted),
        ("1,\"a\" ,2,sold", quoted),
        ("1,\"a\"b\"c\",2,sold", quoted),
        ("1,a\"b,2,sold", quoted),
        ("1, \"a\",2,sold", quoted),
        ("1,\"a\"\",2,sold", quoted),
        ("1,a\rb,2,sold", "`name`: must not have control characters, but has U+000D at index 1"),
        ("x,a,2,sold", "`id`: must be a whole number from 1 to 9223372036854775806"),
        ("1,a,,sold", category),
        ("1,a, 2,sold", category),
        ("1,,2,Sold", "`name`: must have 1 to 255 characters, but is empty; `status`: must be"),
    ];
    let reader = csv("id,name,categoryId,status");
    for (line, fault) in table {
        let found = reader.read(line.as_bytes()).unwrap_err();
        assert!(found.starts_with(fault), "{line}: {found}");
        // A bad line does not affect the next line.
        assert!(reader.read(b"1,\"a\",2,sold").is_ok(), "{line}");
    }
    let found = reader.read(b"1,\xff,2,sold").unwrap_err();
    assert_eq!(found, "the line must be UTF-8, but byte 2 is not");
}

#[test]
fn the_error_for_an_invalid_header_says_what_is_wrong() {
    for (header, says) in [
        ("id;name;categoryId", "there is no field 'id;name;categoryId'; "),
        ("id,name,categoryId,color", "there is no field 'color'; the header must be id,"),
        ("Name,categoryId", "there is no field 'Name'; "),
        ("name,categoryId,name", "the column 'name' appears twice; "),
        ("name,status", "the column 'categoryId' is missing; "),
    ] {
        let fault = RecordReader::csv(header.as_bytes(), ',').unwrap_err();
        assert!(fault.starts_with(says), "{header}: {fault}");
    }
}

#[test]
fn a_name_with_unusual_characters_is_read_unchanged() {
    let reader = csv("name,categoryId");
    for name in ["\u{feff}mark", " x ", "\u{a0}x", "#", "'a'", "a;b", "x\u{2028}y"] {
        let line = format!("{name},1");
        assert_eq!(reader.read(line.as_bytes()).unwrap().pet, pet(name, 1, None), "{line}");
    }
}

proptest! {
    #[test]
    fn any_written_animal_is_read_unchanged(
        name in "\\PC{0,20}[\"',=+@-]{0,3}\\PC{0,20}",
        category in any::<i64>(),
        id in 1..i64::MAX,
        status in prop::option::of(prop::sample::select(PetStatus::ALL.to_vec())),
    ) {
        let Ok(name) = PetName::parse(name) else { return Ok(()) };
        let pet = NewPet { name, category_id: CategoryId(category), status };
        for format in [Format::Ndjson, Format::Csv] {
            let line = written(format, &pet.clone().with_id(PetId(id)));
            let read = reader(format).read(line.strip_suffix('\n').unwrap().as_bytes());
            prop_assert_eq!(read, Ok(Record { id: Some(PetId(id)), pet: pet.clone() }));
        }
    }

    #[test]
    fn any_field_of_csv_may_be_quoted(name in "[a\",é ]{1,8}", quoted in any::<[bool; 3]>()) {
        prop_assume!(PetName::parse(name.clone()).is_ok());
        let cells = [("7", quoted[0]), (&name, quoted[1] || name.contains(['"', ','])), ("", quoted[2])];
        let cells = cells.map(|(cell, quoted)| {
            if quoted { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
        });
        let read = csv("categoryId,name,status").read(cells.join(",").as_bytes());
        prop_assert_eq!(read, Ok(Record { id: None, pet: pet(&name, 7, None) }));
    }
}
