//! Creates the first API key of a store without keys.
//!
//! A terminal shows the key. Other output may be logged, so the key goes into a file beside the store instead. Of the
//! built-in stores, only a SQLite store has a place for that file; any other store gets no key then. The file is
//! durable before the store has the key. After an interrupted start, the next start reads the key from the file and adds
//! it to the store.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use petstore_domain::{
    ApiKey, ApiKeySecret, Clock as _, KeyChangeError, KeyName, KeyStore, NewApiKey, add_first_key,
    load_keys,
};

use crate::{
    commands::keys::{random, show},
    system::{
        Access, Failure, IfExists, Output, PartialFile, SystemClock, lock_folder_of, read_text,
    },
};

const NAME: &str = "default";
const BEGINNING: &str = "This store has no API key yet: petstore creates one named 'default'.\n";
const MADE_ELSEWHERE: &str = "Another process has just created a key: see its output.\n";

/// The text that accompanies the first key.
pub(super) struct FirstKey {
    /// How to create a key.
    pub(super) how: String,
    /// The arguments of `curl` in the example request.
    pub(super) target: String,
    /// Lines with the URLs of the browser pages, if they are served.
    pub(super) pages: String,
}

/// Creates a key if the store has no key, not even an expired, revoked or corrupt one. Without a
/// terminal, the key goes into `file`. Logs where the key is, or why no key is live and how to create one.
pub(super) async fn ensure(
    keys: &dyn KeyStore,
    file: Option<PathBuf>,
    first_key: &FirstKey,
    out: &mut impl Output,
) -> Result<(), Failure> {
    let stored = load_keys(keys).await.map_err(Failure::of_store)?;
    if stored.live(SystemClock.now()).next().is_some() {
        return Ok(());
    }
    let reason = if !stored.is_empty() {
        None
    } else if out.is_terminal() {
        return on_terminal(keys, first_key, out).await;
    } else if let Some(file) = &file {
        let Some(reason) = in_file(keys, file).await? else { return Ok(()) };
        Some(reason)
    } else {
        Some("stdout is no terminal, and this store has no place for a file".to_owned())
    };
    tracing::warn!(reason, "no API key is live: {}", first_key.how);
    Ok(())
}

/// Creates a key and prints it.
async fn on_terminal(
    keys: &dyn KeyStore,
    FirstKey { target, pages, .. }: &FirstKey,
    out: &mut impl Output,
) -> Result<(), Failure> {
    out.print(BEGINNING)?;
    let secret = ApiKeySecret::from_entropy(&random()?);
    let Some(key) = create(keys, &secret).await? else {
        return out.print(MADE_ELSEWHERE);
    };
    let secret = secret.expose();
    let text = format!(
        "It is shown this once:\n{secret}\nTry it:\n\
         curl -H 'Authorization: Bearer {secret}' {target}\n{pages}"
    );
    show(keys, &key, &text, out).await
}

/// Writes a new key into `file`, or reads the key of an interrupted start from `file`, and adds the key to the store.
/// Returns the reason if the file cannot be used.
async fn in_file(keys: &dyn KeyStore, file: &Path) -> Result<Option<String>, Failure> {
    let shown = file.display();
    // Without the lock, another process could store the key of this file while this process removes the file.
    let _lock = match lock_folder_of(file).await {
        Ok(lock) => lock,
        Err(error) => return Ok(Some(format!("cannot lock the folder of {shown}: {error}"))),
    };
    let (secret, is_new) = match read_text(file) {
        Ok(text) => (ApiKeySecret::new(text.trim_end()), false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            (ApiKeySecret::from_entropy(&random()?), true)
        }
        Err(error) => return Ok(Some(format!("cannot read {shown}: {error}"))),
    };
    if !secret.is_well_formed() {
        return Ok(Some(format!("{shown} exists and contains no API key; move it away")));
    }
    if is_new && let Err(failure) = write(file, &secret) {
        return Ok(Some(failure.to_string()));
    }
    let made = create(keys, &secret).await;
    if let Ok(Some(_)) = made {
        tracing::info!(file = %shown, "created an API key named '{NAME}' in this file");
    } else if is_new {
        let _ = fs::remove_file(file);
    }
    made.map(|_| None)
}

/// Writes a new file that only its owner may read.
fn write(file: &Path, secret: &ApiKeySecret) -> Result<(), Failure> {
    let mut new = PartialFile::begin(file, IfExists::Refuse("it stays"), Access::OwnerOnly)?;
    new.write(format!("{}\n", secret.expose()).as_bytes())?;
    new.finish().map(drop)
}

/// Stores the key. Returns `None` if another process has created one meanwhile.
async fn create(keys: &dyn KeyStore, secret: &ApiKeySecret) -> Result<Option<ApiKey>, Failure> {
    let name = KeyName::parse(NAME).map_err(Failure::runtime)?;
    let key = NewApiKey::new(name, secret, SystemClock.now(), None);
    match add_first_key(keys, key).await {
        Err(KeyChangeError::Store(error)) => Err(Failure::of_store(error)),
        made => made.map_err(Failure::runtime),
    }
}

#[cfg(test)]
mod tests;
