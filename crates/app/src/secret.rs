//! New API keys.

use petstore_domain::{ApiKeySecret, KeyRights};

use crate::failure::Failure;

/// A new API key with these rights, from the system's random source.
pub(crate) fn new(rights: KeyRights) -> Result<ApiKeySecret, Failure> {
    let mut entropy = [0; 32];
    getrandom::fill(&mut entropy).map_err(|error| {
        Failure::runtime(format!("the system's random source does not answer: {error}"))
    })?;
    Ok(ApiKeySecret::with_rights(&entropy, rights))
}

#[cfg(test)]
mod tests {
    use petstore_domain::KeyRights;

    #[test]
    fn no_two_keys_are_the_same() {
        let new = || super::new(KeyRights::Full).unwrap();
        let (one, other) = (new(), new());
        assert!(one.is_well_formed());
        assert!(one != other);
    }
}
