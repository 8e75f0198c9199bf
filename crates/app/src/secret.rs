//! New API keys.

use petstore_domain::ApiKeySecret;

use crate::failure::Failure;

/// A new API key from the system's random source.
pub(crate) fn new() -> Result<ApiKeySecret, Failure> {
    let mut entropy = [0; 32];
    getrandom::fill(&mut entropy).map_err(|error| {
        Failure::runtime(format!("the system's random source does not answer: {error}"))
    })?;
    Ok(ApiKeySecret::from_entropy(&entropy))
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_two_keys_are_the_same() {
        let (one, other) = (super::new().unwrap(), super::new().unwrap());
        assert!(one.is_well_formed());
        assert!(one != other);
    }
}
