//! Helpers for tests with mocks, besides the mocks of the ports, which stand beside their ports
//! (such as `MockPetService`): `mockall`'s predicates and sequences, and samples.

pub use mockall::{Sequence, predicate};

use crate::{
    access::{
        authenticator::{AuthenticationError, Caller, MockAuthenticator},
        secret::{ApiKeySecret, KeyDigest, KeyRights},
    },
    catalogue::{
        idempotency::{Idempotency, IdempotencyKey},
        name::PetName,
        pet::{CategoryId, NewPet},
    },
};

/// Returns an animal to be added: this name, category 1, no status.
///
/// # Panics
/// No animal can have the name.
#[must_use]
#[expect(clippy::expect_used, reason = "for tests")]
pub fn new_pet(name: &str) -> NewPet {
    let name = PetName::parse(name).expect("a name of an animal");
    NewPet { name, category_id: CategoryId(1), status: None }
}

/// Returns an idempotency key of one caller, always the same one.
///
/// # Panics
/// The key is empty, too long, or has other characters than visible ASCII.
#[must_use]
#[expect(clippy::expect_used, reason = "for tests")]
pub fn idempotency(key: &str) -> Idempotency {
    let key = IdempotencyKey::parse(key).expect("an idempotency key");
    Idempotency { caller: KeyDigest([1; 32]), key }
}

impl MockAuthenticator {
    /// Returns an authenticator that accepts one key, of any form, which may do everything and has no label. It
    /// refuses all others, also when they are checked again.
    #[must_use]
    pub fn accepting(key: &'static str) -> Self {
        let mut authenticator = Self::new();
        authenticator.expect_key_label().returning(|_| None);
        authenticator
            .expect_authenticate_again()
            .returning(|_| Err(AuthenticationError::Refused(None)));
        authenticator.expect_authenticate().returning(move |secret: &ApiKeySecret| {
            if secret.expose() == key {
                Ok(Caller { digest: secret.digest(), rights: KeyRights::Full })
            } else {
                Err(AuthenticationError::Refused(None))
            }
        });
        authenticator
    }
}
