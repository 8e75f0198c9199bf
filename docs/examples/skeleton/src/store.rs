//! The store, which holds a connection to your technology.

use petstore::OpenMode;
use petstore_domain::StoreError;
use tokio_util::sync::CancellationToken;

/// A catalogue and its API keys.
#[derive(Debug)]
pub struct MyStore {}

/// The purpose for which a store is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To read. Nothing is changed, not even a setting of the store.
    Read,
    /// To read and write. Fails if there is no store.
    Write,
    /// To read and write. Makes an empty store if there is none.
    Create,
}

impl From<OpenMode> for Access {
    fn from(mode: OpenMode) -> Self {
        match mode {
            OpenMode::ReadOnly => Self::Read,
            OpenMode::ReadWrite => Self::Write,
            OpenMode::Create => Self::Create,
        }
    }
}

impl MyStore {
    /// Opens the store called `name`. If `reads_while_sealed` is `true`, this handle also reads the store while it is
    /// sealed. A panic of a task or thread that the store needs cancels `on_panic` (`petstore_storage::PanicGuard`).
    pub async fn open(
        _name: &str,
        _access: Access,
        _reads_while_sealed: bool,
        _on_panic: &CancellationToken,
    ) -> Result<Self, StoreError> {
        todo!("connect")
    }
}

/// Returns a random number. Every write of animals requires a new version, and every save of keys requires a new
/// revision.
#[expect(dead_code, reason = "for the first write")]
pub(crate) fn random() -> Result<u128, StoreError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::unavailable(error.to_string()))?;
    Ok(u128::from_ne_bytes(bytes))
}
