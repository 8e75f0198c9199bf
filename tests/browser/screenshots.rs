//! Pictures of every state of the pages, to look at: for a desk and a phone, light and dark.

use std::fs;

use petstore_testing::{needs, say};

use crate::{
    states::{CATALOGUE, DOCS, zoo_or_skip},
    support::browser::{DESK, Look, PHONE},
};

#[needs(chromium)]
#[test]
fn every_state_has_its_picture_and_is_as_wide_as_the_screen() {
    let Some(zoo) = zoo_or_skip() else { return };
    let (mut folder, mut light) = (None, Vec::new());
    for (name, open) in CATALOGUE.into_iter().chain(DOCS) {
        for (device, look) in [("desk", DESK), ("phone", PHONE)] {
            zoo.browser.look(look);
            open(&zoo);
            for dark in [false, true] {
                zoo.browser.look(Look { dark, ..look });
                let scheme = if dark { "dark" } else { "light" };
                let path = zoo.browser.screenshot(&format!("{name}-{device}-{scheme}"));
                let picture = fs::read(&path).unwrap();
                assert_ne!(picture, light, "{} is as in the light", path.display());
                if !dark {
                    light = picture;
                }
                folder = path.parent().map(ToOwned::to_owned);
            }
            for width in [look.width, 320] {
                zoo.browser.look(Look { width, ..look });
                let shown = zoo.browser.value("document.documentElement.scrollWidth");
                assert!(shown.as_u64() <= Some(width.into()), "{name}: {shown} on {width}");
            }
        }
    }
    say(&format!("pictures of the pages: {}", folder.unwrap().display()));
}
