//! The rules of an [`Archive`](crate::Archive) for rows that may be in conflict with a stored row. An adapter looks up
//! the stored row, applies the rule, and writes.

use crate::{
    access::key::{ApiKey, KeyId},
    catalogue::{
        idempotency::{IdempotencyDecision, IdempotencyId, IdempotencyRecord, IdempotencyRequest},
        pet::Pet,
    },
    transfer::archive::ArchiveError,
};

/// The decision of a store about a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Write nothing: the stored row is equal, or the request has already added its animals.
    Keep,
    /// Write the row, in place of an older row if there is one.
    Write,
}

impl Resolution {
    /// Decides about an animal by the `stored` animal with its identifier.
    ///
    /// # Errors
    /// [`ArchiveError::OtherPet`] if `stored` is another animal.
    pub fn of_pet(stored: Option<&Pet>, pet: &Pet) -> Result<Self, ArchiveError> {
        match stored {
            None => Ok(Self::Write),
            Some(stored) if stored == pet => Ok(Self::Keep),
            Some(_) => Err(ArchiveError::OtherPet(pet.id)),
        }
    }

    /// Decides about the animals of [`add_new`](crate::Archive::add_new) by the `stored` record with the id of
    /// `request`.
    ///
    /// # Errors
    /// [`ArchiveError::Conflict`] if `stored` is the record of other animals.
    pub fn of_new_pets(
        stored: Option<&IdempotencyRecord>,
        request: &IdempotencyRequest,
    ) -> Result<Self, ArchiveError> {
        match request.decide(stored) {
            IdempotencyDecision::Create => Ok(Self::Write),
            IdempotencyDecision::Replay(_) => Ok(Self::Keep),
            IdempotencyDecision::Reused => Err(other_record(request.id)),
        }
    }

    /// Returns the API key to write. `stored` has the identifier of `key`, and `digest_owner` has the digest of
    /// `key`. Two copies of a key are [merged](ApiKey::merged_with), because a key is in use while its store is copied.
    ///
    /// # Errors
    /// [`ArchiveError::Conflict`] if `stored` is another key, or if a key with another identifier has the digest.
    pub fn of_key(
        stored: Option<&ApiKey>,
        digest_owner: Option<KeyId>,
        key: &ApiKey,
    ) -> Result<ApiKey, ArchiveError> {
        let resolved = match (stored, digest_owner) {
            (Some(stored), _) => stored.merged_with(key),
            (None, None) => Some(key.clone()),
            (None, Some(_)) => None,
        };
        resolved.ok_or_else(|| ArchiveError::conflict(format_args!("API key {}", key.id.0)))
    }

    /// Decides about an idempotency record by the `stored` record with its id.
    ///
    /// # Errors
    /// [`ArchiveError::Conflict`] if `stored` is a different record and is not older than `record`.
    pub fn of_record(
        stored: Option<&IdempotencyRecord>,
        record: &IdempotencyRecord,
    ) -> Result<Self, ArchiveError> {
        match stored.filter(|stored| stored.at >= record.at) {
            None => Ok(Self::Write),
            Some(stored) if stored == record => Ok(Self::Keep),
            Some(_) => Err(other_record(record.id)),
        }
    }
}

fn other_record(id: IdempotencyId) -> ArchiveError {
    ArchiveError::conflict(format_args!("idempotency record {id}"))
}

#[cfg(test)]
mod tests {
    use super::Resolution;
    use crate::{
        ApiKey, ArchiveError, Fingerprint, IdempotencyId, IdempotencyRecord, KeyId, PetId,
        Timestamp, access::tests::key,
    };

    fn conflict<T: std::fmt::Debug>(result: Result<T, ArchiveError>) -> String {
        match result.unwrap_err() {
            ArchiveError::OtherPet(id) => format!("animal {id}"),
            ArchiveError::Conflict { what } => what,
            ArchiveError::Store(error) => panic!("{error}"),
        }
    }

    #[test]
    fn a_key_is_merged_with_itself_and_never_written_over_another() {
        let [one, other] = [1, 2].map(|seed| ApiKey { id: KeyId(3), ..key(seed, "web", None) });
        assert_eq!(Resolution::of_key(None, None, &one).unwrap(), one);
        let revoked = ApiKey { revoked_at: Some(Timestamp(5)), ..one.clone() };
        assert_eq!(Resolution::of_key(Some(&revoked), Some(KeyId(3)), &one).unwrap(), revoked);
        assert_eq!(conflict(Resolution::of_key(Some(&other), None, &one)), "API key 3");
        assert_eq!(conflict(Resolution::of_key(None, Some(KeyId(9)), &one)), "API key 3");
    }

    #[test]
    fn an_equal_record_is_kept_and_a_conflict_names_the_record() {
        let [one, other] = [1, 2].map(|pet| IdempotencyRecord {
            id: IdempotencyId([1; 16]),
            fingerprint: Fingerprint([2; 32]),
            pet: PetId(pet),
            at: Timestamp(100),
        });
        assert_eq!(Resolution::of_record(Some(&one), &one).unwrap(), Resolution::Keep);
        let refused = Resolution::of_record(Some(&other), &one);
        assert_eq!(conflict(refused), format!("idempotency record {}", "01".repeat(16)));
    }
}
