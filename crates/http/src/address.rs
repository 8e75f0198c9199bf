//! Which addresses belong to the interface.

/// Where the interface begins; its paths are relative to this.
pub(crate) const BASE_PATH: &str = "/v1";

/// Whether a credential is needed for whatever is, or is not, at `path`. The address alone decides:
/// so an unknown path needs one too, and no row of the route table can open an operation by mistake.
pub(crate) fn is_under_base(path: &str) -> bool {
    path.strip_prefix(BASE_PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::{BASE_PATH, is_under_base};

    #[test]
    fn only_the_base_path_and_what_is_below_needs_a_credential() {
        for path in [BASE_PATH, "/v1/", "/v1/pets", "/v1/nothing", "/v1//"] {
            assert!(is_under_base(path), "{path}");
        }
        for path in ["/", "", "/v1x", "/v2/pets", "/V1/pets", "//v1/pets", "/docs"] {
            assert!(!is_under_base(path), "{path}");
        }
    }
}
