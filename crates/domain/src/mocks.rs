//! Helpers for tests with mocks: `mockall`'s predicates and sequences, and samples. The mocks themselves, such
//! as `MockPetService`, are in the crate root.

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

/// Returns a new animal with this name, category 1 and no status.
///
/// # Panics
/// If `name` breaks a rule of [`PetName`].
#[must_use]
#[expect(clippy::expect_used, reason = "for tests")]
pub fn new_pet(name: &str) -> NewPet {
    let name = PetName::parse(name).expect("a name of an animal");
    NewPet { name, category_id: CategoryId(1), status: None }
}

/// Returns the idempotency key `key` of a fixed caller.
///
/// # Panics
/// If `key` breaks a rule of [`IdempotencyKey`].
#[must_use]
#[expect(clippy::expect_used, reason = "for tests")]
pub fn idempotency(key: &str) -> Idempotency {
    let key = IdempotencyKey::parse(key).expect("an idempotency key");
    Idempotency { caller: KeyDigest([1; 32]), key }
}

impl MockAuthenticator {
    /// Returns an authenticator that accepts one key and refuses all others. The key may have any form, has full
    /// rights and no label.
    #[must_use]
    pub fn accepting(key: &'static str) -> Self {
        let mut authenticator = Self::new();
        authenticator.expect_key_label().returning(|_| None);
        authenticator
            .expect_authenticate_again()
            .returning(|_| Err(AuthenticationError::Refused(None)));
        authenticator.expect_authenticate().returning(move |secret: &ApiKeySecret| {
            let caller = Caller { digest: secret.digest(), rights: KeyRights::Full };
            (secret.expose() == key).then_some(caller).ok_or(AuthenticationError::Refused(None))
        });
        authenticator
    }
}
