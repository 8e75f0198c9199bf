//! Sample animals, requests and keys.

#![expect(clippy::expect_used, reason = "the kit's own samples are valid")]

use petstore_domain::{
    ApiKeySecret, CategoryId, Idempotency, IdempotencyKey, IdempotencyRequest, KeyDigest, KeyName,
    KeyRights, KeySelector, NewApiKey, NewPet, PageLimit, PetId, PetName, PetQuery, PetStatus,
    Timestamp,
};

/// A limit that no promise reaches.
pub(crate) const NO_LIMIT: u32 = 1000;
/// The lifetime of a sample request in milliseconds.
pub(crate) const LIFETIME: i64 = 86_400_000;
/// Every status of an animal, and no status.
pub(crate) const STATUSES: [Option<PetStatus>; 4] =
    [None, Some(PetStatus::Available), Some(PetStatus::Pending), Some(PetStatus::Sold)];

/// The time of the samples, in the year 2001. A store that reads the clock of its machine, instead of the given times,
/// treats all samples as expired.
const EPOCH: i64 = 1_000_000_000_000;

/// Returns the moment `millis` after [`EPOCH`].
pub(crate) fn at(millis: i64) -> Timestamp {
    Timestamp(EPOCH + millis)
}

pub(crate) fn pet(name: &str, category: i64, status: Option<PetStatus>) -> NewPet {
    let name = PetName::parse(name).expect("a valid name");
    NewPet { name, category_id: CategoryId(category), status }
}

pub(crate) fn rex() -> NewPet {
    pet("Rex", 1, Some(PetStatus::Available))
}

/// Returns the animal with this number. No two animals are equal, and every status occurs.
pub(crate) fn numbered(number: usize) -> NewPet {
    let category = i64::try_from(number).unwrap_or(i64::MAX);
    pet(&format!("pet {number}"), category, STATUSES[number % STATUSES.len()])
}

pub(crate) fn numbers(count: usize) -> impl Iterator<Item = NewPet> {
    (0..count).map(numbered)
}

/// Returns the request of a sample caller to add `pet` under `key`, `millis` after [`EPOCH`].
pub(crate) fn request(key: &str, pet: &NewPet, millis: i64) -> IdempotencyRequest {
    let key = IdempotencyKey::parse(key).expect("a valid idempotency key");
    let id = Idempotency { caller: KeyDigest([1; 32]), key }.id();
    IdempotencyRequest::new(id, pet, at(millis))
}

pub(crate) fn query(animals: u8, status: Option<PetStatus>, after: Option<PetId>) -> PetQuery {
    PetQuery { limit: PageLimit::new(animals).expect("a valid limit"), status, after }
}

fn key_name(name: &str) -> KeyName {
    KeyName::parse(name).expect("a valid key name")
}

pub(crate) fn by_name(name: &str) -> KeySelector {
    KeySelector::Name(key_name(name))
}

/// Returns an API key with the name `name`. `created` and `expires` are milliseconds after [`EPOCH`].
pub(crate) fn key(seed: u16, name: &str, created: i64, expires: Option<i64>) -> NewApiKey {
    let mut entropy = [0; 32];
    entropy[..2].copy_from_slice(&seed.to_be_bytes());
    let secret = ApiKeySecret::from_entropy(&entropy);
    NewApiKey::new(key_name(name), &secret, at(created), expires.map(at))
}

/// Returns a key that may only read. The prefix of its secret names other rights, but the prefix is only for people.
pub(crate) fn read_only_key(seed: u16, name: &str, created: i64) -> NewApiKey {
    NewApiKey { rights: KeyRights::ReadOnly, ..key(seed, name, created, None) }
}
