//! The first difference between two stores, in words.

use std::fmt;

use petstore_domain::{ApiKey, IdempotencyRecord, Pet, PetStatus};

/// The first row in which two stores differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The row, for example `animal 7`.
    pub what: String,
    /// The row of the source in words; `None` if it has none.
    pub source: Option<String>,
    /// The row of the target in words; `None` if it has none.
    pub target: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, source, target } = self;
        let [source, target] = [source, target].map(|row| row.as_deref().unwrap_or("nothing"));
        write!(f, "{what} is {source} in the source and {target} in the target")
    }
}

/// Returns the difference at the head of two ascending lists of animals, if there is one.
pub(crate) fn between_pets(source: Option<&Pet>, target: Option<&Pet>) -> Option<Difference> {
    between(source, target, |pet| pet.id, |one, other| one == other).map(|(source, target)| {
        let id = source.or(target).map_or_else(String::new, |pet| pet.id.to_string());
        Difference {
            what: format!("animal {id}"),
            source: source.map(pet),
            target: target.map(pet),
        }
    })
}

/// Returns the same for API keys. Their last use is not compared: each service notes it in its own store.
pub(crate) fn between_keys(source: Option<&ApiKey>, target: Option<&ApiKey>) -> Option<Difference> {
    let same = |one: &ApiKey, other: &ApiKey| {
        *one == ApiKey { last_used_at: one.last_used_at, ..other.clone() }
    };
    between(source, target, |key| key.id, same).map(|(source, target)| {
        let id = source.or(target).map_or(0, |key| key.id.0);
        Difference {
            what: format!("API key {id}"),
            source: source.map(key),
            target: target.map(key),
        }
    })
}

/// Returns the same for idempotency records.
pub(crate) fn between_records(
    source: Option<&IdempotencyRecord>,
    target: Option<&IdempotencyRecord>,
) -> Option<Difference> {
    let same = |one: &IdempotencyRecord, other: &IdempotencyRecord| one == other;
    between(source, target, IdempotencyRecord::position, same).map(|(source, target)| {
        let id = source.or(target).map_or_else(String::new, |record| record.id.to_string());
        let what = format!("idempotency record {id}");
        Difference { what, source: source.map(record), target: target.map(record) }
    })
}

/// Returns what each side holds at the smaller of both places, unless that is the same.
fn between<'r, R, P: Ord>(
    source: Option<&'r R>,
    target: Option<&'r R>,
    place: impl Fn(&R) -> P,
    same: impl Fn(&R, &R) -> bool,
) -> Option<(Option<&'r R>, Option<&'r R>)> {
    match (source, target) {
        (None, None) => None,
        (Some(one), Some(other)) if same(one, other) => None,
        (Some(one), Some(other)) if place(one) < place(other) => Some((source, None)),
        (Some(one), Some(other)) if place(one) > place(other) => Some((None, target)),
        _ => Some((source, target)),
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
