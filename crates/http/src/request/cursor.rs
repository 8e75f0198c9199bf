//! Cursors: the position of a walk through the pages, as opaque text for a URL.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use petstore_domain::{CursorPosition, PetId, PetStatus};

/// The version of the layout below. A cursor of another layout is unreadable.
const LAYOUT: u8 = 1;
/// The length in bytes: layout, status, identifier, checksum.
const LENGTH: usize = 1 + 1 + 8 + 4;
/// The length of a cursor in characters: six bits each.
const CHARS: usize = (LENGTH * 8).div_ceil(6);

/// The statuses of a position. The index of a status is its byte in the layout.
const STATUSES: [Option<PetStatus>; 4] =
    [None, Some(PetStatus::Available), Some(PetStatus::Pending), Some(PetStatus::Sold)];

/// Returns the cursor of a position, in ASCII.
pub(crate) fn encode(position: CursorPosition) -> [u8; CHARS] {
    let CursorPosition { after, status } = position;
    let mut bytes = [0; LENGTH];
    bytes[0] = LAYOUT;
    let byte = (0..).zip(STATUSES).find_map(|(byte, each)| (each == status).then_some(byte));
    bytes[1] = byte.unwrap_or_default();
    bytes[2..10].copy_from_slice(&after.0.to_be_bytes());
    let check = crc32fast::hash(&bytes[..10]);
    bytes[10..].copy_from_slice(&check.to_be_bytes());
    let mut text = [0; CHARS];
    // The text has the length that the bytes need, so this never fails.
    let _ = URL_SAFE_NO_PAD.encode_slice(bytes, &mut text);
    text
}

/// Returns the position of a cursor; `None` if [`encode`] returns no such text. The checksum detects a mangled cursor.
/// A cursor grants no access, so it needs no signature.
pub(crate) fn decode(text: &str) -> Option<CursorPosition> {
    let mut bytes = [0; LENGTH];
    URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).ok()?;
    let [_, sent_status, id @ .., _, _, _, _] = bytes;
    let status = *STATUSES.get(usize::from(sent_status))?;
    let position = CursorPosition { after: PetId(i64::from_be_bytes(id)), status };
    // Compares the layout, the checksum and the form of the text.
    (encode(position)[..] == *text.as_bytes()).then_some(position)
}

#[cfg(test)]
mod tests {
    use petstore_domain::{CursorPosition, PetId, PetStatus};
    use proptest::prelude::*;

    use super::{Engine as _, LAYOUT, URL_SAFE_NO_PAD, decode};
    use crate::fuzz::cursor_text;

    #[test]
    fn the_layout_stays_readable_across_versions() {
        for (text, status) in [
            ("AQAAAAAAAAAAFBaS1zU", None),
            ("AQEAAAAAAAAAFAHpw3Y", Some(PetStatus::Available)),
            ("AQIAAAAAAAAAFDhk_7M", Some(PetStatus::Pending)),
            ("AQMAAAAAAAAAFC8f6_A", Some(PetStatus::Sold)),
        ] {
            assert_eq!(decode(text), Some(CursorPosition { after: PetId(20), status }));
        }
    }

    #[test]
    fn an_unknown_layout_or_status_is_unreadable_in_spite_of_a_valid_checksum() {
        for (layout, status, is_readable) in
            [(LAYOUT, 3, true), (LAYOUT + 1, 3, false), (LAYOUT, 4, false)]
        {
            let mut bytes = vec![layout, status];
            bytes.extend(20_i64.to_be_bytes());
            bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
            let text = URL_SAFE_NO_PAD.encode(bytes);
            assert_eq!(decode(&text).is_some(), is_readable, "{layout} {status}");
        }
    }

    proptest! {
        #[test]
        fn a_mangled_cursor_is_unreadable(id: i64, at in 0..19_usize, with in "[A-Za-z0-9_=%-]") {
            let good = cursor_text(CursorPosition { after: PetId(id), status: None });
            let mut bad = good.clone();
            bad.replace_range(at..=at, &with);
            prop_assume!(bad != good);
            prop_assert_eq!(decode(&bad), None);
            prop_assert_eq!(decode(&good[..at]), None);
            prop_assert_eq!(decode(&format!("{good}{with}")), None);
        }
    }
}
