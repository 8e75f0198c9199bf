//! Animals for imports and additions.

use serde_json::{Value, json};

/// Returns NDJSON lines of `count` animals, without identifiers.
pub(crate) fn many(count: usize) -> String {
    let line = |number| json!({"name": format!("Rex {number}"), "categoryId": number}).to_string();
    (0..count).map(|number| line(number) + "\n").collect()
}

/// Returns animals whose names need care. The tests of `commands/records` in `crates/app` read and write more names.
pub(crate) fn awkward() -> Vec<Value> {
    let longest = "🐕".repeat(255);
    let names = [
        "\"",
        "a,b;c",
        "\\n",
        "=1+1",
        " leading",
        "trailing ",
        "\u{a0}no-break\u{a0}",
        "null",
        "e\u{301}",
        "\u{202e}\u{2028}\u{10ffff}",
        &longest,
    ];
    let statuses = [None, Some("available"), Some("pending"), Some("sold")];
    let categories = [0, 1, -1, i64::MAX, i64::MIN];
    let pets = names.iter().enumerate().map(|(index, name)| {
        let mut pet = json!({"name": name, "categoryId": categories[index % categories.len()]});
        if let Some(status) = statuses[index % statuses.len()] {
            pet["status"] = status.into();
        }
        pet
    });
    pets.collect()
}
