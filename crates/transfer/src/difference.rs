//! The first difference between two stores, in words.

use std::fmt;

use petstore_domain::{ApiKey, IdempotencyRecord, Pet, PetStatus};

/// The first place in which two stores differ, and what each holds there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which, for example `animal 7`.
    pub what: String,
    /// What the source holds there, in words; `None` if nothing.
    pub from: Option<String>,
    /// What the target holds there, in words; `None` if nothing.
    pub to: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, from, to } = self;
        let [from, to] = [from, to].map(|side| side.as_deref().unwrap_or("nothing"));
        write!(f, "{what} is {from} in the source and {to} in the target")
    }
}

/// Returns the difference at the head of two ascending lists of animals, if there is one.
pub(crate) fn between_pets(from: Option<&Pet>, to: Option<&Pet>) -> Option<Difference> {
    between(from, to, |pet| pet.id, |one, other| one == other).map(|(from, to)| {
        let id = from.or(to).map_or_else(String::new, |pet| pet.id.to_string());
        Difference { what: format!("animal {id}"), from: from.map(pet), to: to.map(pet) }
    })
}

/// Returns the same for API keys. Their last use is not compared: each service notes it in its own store.
pub(crate) fn between_keys(from: Option<&ApiKey>, to: Option<&ApiKey>) -> Option<Difference> {
    let same = |one: &ApiKey, other: &ApiKey| {
        *one == ApiKey { last_used_at: one.last_used_at, ..other.clone() }
    };
    between(from, to, |key| key.id, same).map(|(from, to)| {
        let id = from.or(to).map_or(0, |key| key.id.0);
        Difference { what: format!("API key {id}"), from: from.map(key), to: to.map(key) }
    })
}

/// Returns the same for idempotency records.
pub(crate) fn between_records(
    from: Option<&IdempotencyRecord>,
    to: Option<&IdempotencyRecord>,
) -> Option<Difference> {
    let same = |one: &IdempotencyRecord, other: &IdempotencyRecord| one == other;
    between(from, to, |record| record.id, same).map(|(from, to)| {
        let id = from.or(to).map_or_else(String::new, |record| record.id.to_string());
        let what = format!("idempotency record {id}");
        Difference { what, from: from.map(record), to: to.map(record) }
    })
}

/// Returns what each side holds at the smaller of both places, unless that is the same.
fn between<'r, R, P: Ord>(
    from: Option<&'r R>,
    to: Option<&'r R>,
    place: impl Fn(&R) -> P,
    same: impl Fn(&R, &R) -> bool,
) -> Option<(Option<&'r R>, Option<&'r R>)> {
    match (from, to) {
        (None, None) => None,
        (Some(one), Some(other)) if same(one, other) => None,
        (Some(one), Some(other)) if place(one) < place(other) => Some((from, None)),
        (Some(one), Some(other)) if place(one) > place(other) => Some((None, to)),
        _ => Some((from, to)),
    }
}

fn pet(Pet { id: _, name, category_id, status }: &Pet) -> String {
    let status = status.map_or("without a status", PetStatus::as_str);
    format!("{:?} of category {}, {status}", name.as_str(), category_id.0)
}

fn key(key: &ApiKey) -> String {
    let ApiKey { name, digest, prefix, rights, created_at, expires_at, revoked_at, .. } = key;
    let [expires, revoked] = [("expires", expires_at), ("revoked", revoked_at)]
        .map(|(word, at)| at.map_or_else(String::new, |at| format!(", {word} at {} ms", at.0)));
    let digest = start(&digest.0);
    let (rights, made) = (rights.as_str(), created_at.0);
    format!("'{name}' ({prefix}…, {rights}, digest {digest}…), made at {made} ms{expires}{revoked}")
}

fn record(IdempotencyRecord { id: _, fingerprint, pet, at }: &IdempotencyRecord) -> String {
    format!("of animal {pet} (digest {}…), made at {} ms", start(&fingerprint.0), at.0)
}

/// Returns the first bytes of a digest: enough to see that two differ.
fn start(digest: &[u8; 32]) -> String {
    let [a, b, c, d, ..] = digest;
    format!("{:08x}", u32::from_be_bytes([*a, *b, *c, *d]))
}

#[cfg(test)]
mod tests {
    use super::start;

    #[test]
    fn a_digest_is_named_by_its_first_four_bytes() {
        let mut digest = [7; 32];
        digest[..4].copy_from_slice(&[0x0a, 0xbc, 0, 1]);
        assert_eq!(start(&digest), "0abc0001");
    }
}
