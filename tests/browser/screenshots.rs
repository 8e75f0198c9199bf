//! Pictures of every page, to look at: for a wide and a narrow screen, light and dark.

use std::fs;

use petstore_testing::{needs, say};
use serde_json::json;

use crate::{
    every_page::VIEWS,
    support::{
        browser::{DESK, Look},
        catalogue,
        zoo::Zoo,
    },
};

/// Animals that look like a store.
const NAMES: [&str; 24] = [
    "Rex", "Mimi", "Bruno", "Lumi", "Hedwig", "Nemo", "Pip", "Otto", "Sushi", "Biscuit", "Clover",
    "Figaro", "Juno", "Kiwi", "Maple", "Nacho", "Olive", "Poppy", "Ziggy", "Tilda", "Momo", "Cleo",
    "Basil", "Ivy",
];

#[needs(chromium)]
#[test]
fn every_page_has_its_picture() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    for (number, name) in NAMES.iter().cycle().take(120).enumerate() {
        let mut pet = json!({ "name": name, "categoryId": number * 7 % 9 + 1 });
        let status =
            ["available", "sold", "available", "pending", "available", "", "sold"][number % 7];
        if !status.is_empty() {
            pet["status"] = json!(status);
        }
        catalogue::add(&zoo.client(), &pet);
    }
    let (mut folder, mut light) = (None, Vec::new());
    for (name, open) in VIEWS {
        zoo.browser.look(DESK);
        open(&zoo);
        for (width, dark) in [(1280, false), (1280, true), (390, false), (390, true)] {
            zoo.browser.look(Look { width, dark });
            let scheme = if dark { "dark" } else { "light" };
            let path = zoo.browser.screenshot(&format!("{name}-{width}-{scheme}"));
            let picture = fs::read(&path).unwrap();
            // Of a PNG, bytes 16 to 19 are the width: nothing sticks out of the screen.
            let shown = u32::from_be_bytes(picture[16..20].try_into().unwrap());
            assert!(u64::from(shown) <= u64::from(width), "{}: {shown}", path.display());
            assert_ne!(picture, light, "{} is as in the light", path.display());
            if !dark {
                light = picture;
            }
            folder = path.parent().map(ToOwned::to_owned);
        }
    }
    say(&format!("pictures of the pages: {}", folder.unwrap().display()));
}
