//! The first key of a store that has none.
//!
//! On a terminal it is printed. Elsewhere, what a service prints ends where logs are collected, so the key
//! goes into a file beside the store; where there can be none, no key is made.
//!
//! The file is on the disk under a temporary name before the store has the key, and gets its own name
//! afterwards. A start that follows a crash in between gives it that name, or removes it.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use petstore_domain::{ApiKey, ApiKeySecret, KeyAdmin, KeyName, KeyRights, KeyState};

use crate::{
    console::{Output, stdout_failed},
    failure::Failure,
    keys,
    partial_file::{Access, IfExists, PartialFile, folder_of},
    secret,
    serve::place::Place,
};

const NAME: &str = "default";
const BEGINNING: &str = "This store has no API key yet, so one named 'default' is made.\n";
const MADE_ELSEWHERE: &str = "Another process has just made it: see there.\n";

/// Makes a key if the store has none at all, neither live nor revoked. `file` is where it goes if there is no
/// terminal. The log says in one line where the key is, or why no key is live and `how` to make one.
pub(super) async fn ensure(
    admin: &KeyAdmin,
    file: Option<PathBuf>,
    how: &str,
    place: &Place,
    out: &mut impl Output,
) -> Result<(), Failure> {
    // Of two processes that start at once, one does all of it before the other.
    let file = file.map(|file| lock_folder_of(&file).map(|lock| (file, lock)));
    let (stored, now) = admin.list().await.map_err(Failure::runtime)?;
    if let Some(Ok((file, _))) = &file {
        finish_left_over(file, &stored.keys);
    }
    let missing = if !stored.is_empty() {
        let live = stored.keys.iter().any(|key| key.state(now) == KeyState::Live);
        (!live).then_some(None)
    } else if out.is_terminal() {
        on_terminal(admin, place, out).await?;
        None
    } else {
        match &file {
            Some(Ok((file, _))) => in_file(admin, file).await?.map(Some),
            Some(Err(error)) => Some(Some(format!("cannot lock the store's folder: {error}"))),
            None => Some(Some("stdout is no terminal, and no file belongs to this store".into())),
        }
    };
    if let Some(reason) = missing {
        tracing::warn!(reason, "no API key is live: {how}");
    }
    Ok(())
}

/// Makes a key and shows it.
async fn on_terminal(
    admin: &KeyAdmin,
    place: &Place,
    out: &mut impl Output,
) -> Result<(), Failure> {
    out.answer(BEGINNING).map_err(|error| stdout_failed(&error))?;
    let secret = secret::new(KeyRights::Full)?;
    let Some(key) = create(admin, &secret).await? else {
        return out.answer(MADE_ELSEWHERE).map_err(|error| stdout_failed(&error));
    };
    let secret = secret.expose();
    let target = place.curl("/v1/pets");
    let shown = out.answer(&format!(
        "It is shown this once:\n{secret}\nTry it:\n\
         curl -H 'Authorization: Bearer {secret}' {target}\n"
    ));
    match shown {
        Ok(()) => Ok(()),
        Err(lost) => Err(keys::take_back(admin, &key, &stdout_failed(&lost)).await),
    }
}

/// Makes a key and writes it into `file`, or says why not.
async fn in_file(admin: &KeyAdmin, file: &Path) -> Result<Option<String>, Failure> {
    let secret = secret::new(KeyRights::Full)?;
    let partial = match write(file, &secret) {
        Ok(partial) => partial,
        Err(failure) => return Ok(Some(failure.to_string())),
    };
    let Some(key) = create(admin, &secret).await? else { return Ok(None) };
    match partial.finish() {
        Ok(_) => log_made(file),
        Err(lost) => return Err(keys::take_back(admin, &key, &lost).await),
    }
    Ok(None)
}

fn write(file: &Path, secret: &ApiKeySecret) -> Result<PartialFile, Failure> {
    let if_exists = IfExists::Refuse("move it away, and the next start makes a key");
    let mut partial = PartialFile::begin(file, if_exists, Access::OwnerOnly)?;
    partial.write(format!("{}\n", secret.expose()).as_bytes())?;
    partial.sync()?;
    Ok(partial)
}

/// `None` if another process has made one meanwhile.
async fn create(admin: &KeyAdmin, secret: &ApiKeySecret) -> Result<Option<ApiKey>, Failure> {
    let name = KeyName::parse(NAME).map_err(Failure::runtime)?;
    admin.create_first(name, secret).await.map_err(Failure::runtime)
}

/// Gives what a crash has left its name if the store has its key, and removes it otherwise.
fn finish_left_over(file: &Path, keys: &[ApiKey]) {
    for left in PartialFile::left_over(file) {
        let digest =
            fs::read_to_string(&left).map(|text| ApiKeySecret::new(text.trim_end()).digest());
        let is_known = digest.is_ok_and(|digest| keys.iter().any(|key| key.digest == digest));
        // What fails is tried again at the next start.
        if !is_known || file.exists() {
            let _ = fs::remove_file(&left);
        } else if fs::rename(&left, file).is_ok() {
            log_made(file);
        }
    }
}

/// Until the value is dropped.
fn lock_folder_of(file: &Path) -> io::Result<File> {
    let folder = File::open(folder_of(file))?;
    folder.lock()?;
    Ok(folder)
}

fn log_made(file: &Path) {
    tracing::info!(file = %file.display(), "made an API key named '{NAME}': this file has it");
}

#[cfg(test)]
mod tests;
