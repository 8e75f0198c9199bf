//! Whether a write was refused because another store decides.

use petstore_domain::{AddError, AddKeyError, RestoreError, RollKeyError, StoreError};

/// An error that may be the refusal of a fence.
pub(crate) trait MayBeFenced {
    /// Whether it is. Then nothing has happened.
    fn is_fenced(&self) -> bool;
}

impl MayBeFenced for StoreError {
    fn is_fenced(&self) -> bool {
        matches!(self, Self::Sealed(_))
    }
}

macro_rules! may_be_fenced {
    ($($error:ident),+) => {
        $(impl MayBeFenced for $error {
            fn is_fenced(&self) -> bool {
                matches!(self, Self::Store(StoreError::Sealed(_)))
            }
        })+
    };
}

may_be_fenced!(AddError, AddKeyError, RollKeyError, RestoreError);
