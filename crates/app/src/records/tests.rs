use petstore_domain::{CategoryId, NewPet, Pet, PetId, PetName, PetStatus};
use proptest::prelude::*;

use super::{Columns, Reader, Record, header, write};
use crate::cli::Format;

fn pet(name: &str, category: i64, status: Option<PetStatus>) -> NewPet {
    NewPet { name: PetName::parse(name).unwrap(), category_id: CategoryId(category), status }
}

fn written(format: Format, pet: &Pet) -> String {
    let mut text = String::new();
    write(format, pet, &mut text);
    text
}

fn reader(format: Format) -> Reader {
    match format {
        Format::Ndjson => Reader::Ndjson,
        Format::Csv => Reader::Csv(Columns::of(header(format).trim_end()).unwrap()),
    }
}

fn csv(header: &str, line: &str) -> Result<Record, String> {
    Reader::Csv(Columns::of(header).unwrap()).read(line)
}

#[test]
fn an_animal_is_written_as_the_interface_shows_it() {
    let rex = pet("Rex", 2, Some(PetStatus::Sold)).with_id(PetId(1));
    let expected = r#"{"id":1,"name":"Rex","categoryId":2,"status":"sold"}"#.to_owned() + "\n";
    assert_eq!(written(Format::Ndjson, &rex), expected);
    assert_eq!(written(Format::Csv, &rex), "1,Rex,2,sold\n");

    let odd = pet("a \"b\", c", -1, None).with_id(PetId(2));
    let expected = r#"{"id":2,"name":"a \"b\", c","categoryId":-1}"#.to_owned() + "\n";
    assert_eq!(written(Format::Ndjson, &odd), expected);
    assert_eq!(written(Format::Csv, &odd), "2,\"a \"\"b\"\", c\",-1,\n");
    assert_eq!(written(Format::Csv, &pet(" x", 0, None).with_id(PetId(3))), "3,\" x\",0,\n");
}

#[test]
fn columns_may_come_in_any_order_and_two_may_be_missing() {
    let rex = pet("Rex", 2, Some(PetStatus::Sold));
    let record = Record { id: Some(PetId(7)), pet: rex.clone() };
    assert_eq!(csv("status,categoryId,name,id", "sold,2,Rex,7"), Ok(record));
    let record = Record { id: None, pet: NewPet { status: None, ..rex } };
    assert_eq!(csv("name,categoryId", "Rex,2"), Ok(record.clone()));
    assert_eq!(csv("id,name,categoryId,status", ",\"Rex\",2,"), Ok(record));
    for header in ["", "name", "name,categoryId,name", "Name,categoryId", "name,categoryId,x"] {
        assert!(Columns::of(header).is_err(), "{header}");
    }
}

#[test]
fn every_fault_of_a_json_line_is_named() {
    let table = [
        ("", "the line must be one JSON object, but: "),
        ("[1]", "the line must be one JSON object, but: "),
        ("null", "the line must be one JSON object, but: "),
        (r#"{"name":"a","categoryId":1} {}"#, "the line must be one JSON object, but: "),
        ("{}", "`name`: is required; `categoryId`: is required"),
        (r#"{"name":"a","categoryId":1,"tag":1}"#, "\"tag\": unknown field; allowed are id, name"),
        (r#"{"name":"a","name":"a","categoryId":1}"#, "`name`: must be given once"),
        (r#"{"name":null,"categoryId":1}"#, "`name`: must be a string"),
        (r#"{"name":"a","categoryId":null}"#, "`categoryId`: must be a whole number from -92"),
        (r#"{"name":"a","categoryId":"1"}"#, "`categoryId`: must be a whole number from -92"),
        (r#"{"name":"a","categoryId":1.0}"#, "`categoryId`: must be a whole number from -92"),
        (r#"{"name":"a","categoryId":1e2}"#, "`categoryId`: must be a whole number from -92"),
        (r#"{"name":"a","categoryId":9223372036854775808}"#, "`categoryId`: must be a whole"),
        (r#"{"name":"a","categoryId":1,"status":null}"#, "`status`: must be a string"),
        (r#"{"name":"a","categoryId":1,"status":"gone"}"#, "`status`: must be one of available"),
        (r#"{"id":0,"name":"a","categoryId":1}"#, "`id`: must be a whole number from 1 to 92"),
        (r#"{"id":9223372036854775807,"name":"a","categoryId":1}"#, "`id`: must be a whole"),
        (r#"{"id":null,"name":"a","categoryId":1}"#, "`id`: must be a whole number from 1"),
        (r#"{"name":"a\nb","categoryId":1}"#, "`name`: must not have control characters"),
        (r#"{"name":"\ud800","categoryId":1}"#, "`name`: must be a string"),
        (r#"{"name":" ","status":"x"}"#, "`name`: must not be white space alone; `status`: must"),
    ];
    for (line, fault) in table {
        let found = Reader::Ndjson.read(line).unwrap_err();
        assert!(found.starts_with(fault), "{line}: {found}");
    }
}

#[test]
fn every_fault_of_a_csv_line_is_named() {
    let table = [
        ("1,a,2", "the line must have 4 fields, but has 3"),
        ("1,a,2,sold,", "the line must have 4 fields, but has 5"),
        ("1,\"a,2,sold", "a quote is not closed on its line (a name has no line break)"),
        ("1,\"a\"b,2,sold", "a closing quote must be followed by a comma"),
        ("1,a\"b,2,sold", "a field with a quote in it must be quoted, and the quote doubled"),
        ("x,a,2,sold", "`id`: must be a whole number from 1 to 9223372036854775806"),
        ("01,a,2,sold", "`id`: must be a whole number from 1 to 9223372036854775806"),
        ("1,a,,sold", "`categoryId`: must be a whole number from -9223372036854775808 to 92"),
        ("1,a, 2,sold", "`categoryId`: must be a whole number from -9223372036854775808 to 92"),
        ("1,,2,Sold", "`name`: must have 1 to 255 characters, but is empty; `status`: must be"),
    ];
    for (line, fault) in table {
        let found = csv("id,name,categoryId,status", line).unwrap_err();
        assert!(found.starts_with(fault), "{line}: {found}");
    }
}

proptest! {
    #[test]
    fn whatever_is_written_is_read_as_it_was(
        name in "\\PC{0,20}[\"',=+@-]{0,3}\\PC{0,20}",
        category in any::<i64>(),
        id in 1..i64::MAX,
        status in prop::option::of(prop::sample::select(PetStatus::ALL.to_vec())),
    ) {
        let Ok(name) = PetName::parse(name) else { return Ok(()) };
        let pet = NewPet { name, category_id: CategoryId(category), status };
        for format in [Format::Ndjson, Format::Csv] {
            let line = written(format, &pet.clone().with_id(PetId(id)));
            let read = reader(format).read(line.strip_suffix('\n').unwrap());
            prop_assert_eq!(read, Ok(Record { id: Some(PetId(id)), pet: pet.clone() }));
        }
    }
}
