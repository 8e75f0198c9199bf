use std::{
    fs,
    path::{Path, PathBuf},
};

use petstore_domain::{
    ApiKey, ApiKeySecret, Clock as _, KeyDigest, KeyId, KeyName, KeyStore, MockKeyStore, NewApiKey,
    SaveOutcome, StoreError, Timestamp, load_keys,
};
use petstore_memory::MemoryStore;
use tempfile::TempDir;

use super::{BEGINNING, FirstKey, MADE_ELSEWHERE, ensure};
use crate::system::{Failure, Recorded, SystemClock};

const TARGET: &str = "http://127.0.0.1:4321/v1/pets";

fn terminal() -> Recorded {
    Recorded { is_terminal: true, ..Recorded::default() }
}

async fn first(
    keys: &dyn KeyStore,
    file: Option<&Path>,
    out: &mut Recorded,
) -> Result<(), Failure> {
    let first_key =
        FirstKey { target: TARGET.to_owned(), how: String::new(), pages: String::new() };
    ensure(keys, file.map(Path::to_owned), &first_key, out).await
}

/// Returns the digests of the live keys.
async fn live(keys: &dyn KeyStore) -> Vec<KeyDigest> {
    let stored = load_keys(keys).await.unwrap();
    let live = stored.live(SystemClock.now());
    live.inspect(|key| assert_eq!(key.name.as_str(), "default")).map(|key| key.digest).collect()
}

#[tokio::test]
async fn if_the_terminal_fails_the_key_is_not_created_or_is_revoked() {
    for (breaks_after, known) in [(0, 0), (1, 1)] {
        let admin = MemoryStore::new();
        let mut breaking = Recorded { breaks_after: Some(breaks_after), ..terminal() };
        let failure = first(&admin, None, &mut breaking).await.unwrap_err();
        assert_eq!(failure.to_string().contains("was revoked"), known == 1, "{failure}");
        assert_eq!(load_keys(&admin).await.unwrap().keys.len(), known);
        assert_eq!(live(&admin).await, []);
    }
}

/// Returns the path of a key file in a temporary folder.
fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("petstore.db.key");
    (folder, file)
}

/// Returns the names of the files in a folder, and the content of the key file.
fn left(folder: &TempDir) -> (Vec<String>, Option<String>) {
    let names = fs::read_dir(folder.path()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    (names, fs::read_to_string(folder.path().join("petstore.db.key")).ok())
}

#[tokio::test]
async fn the_key_file_of_an_interrupted_start_is_used() {
    let secret = ApiKeySecret::from_entropy(&[7; 32]);
    let text = format!("{}\r\n", secret.expose());
    let ((folder, file), admin) = (place(), MemoryStore::new());
    fs::write(&file, &text).unwrap();
    first(&admin, Some(&file), &mut Recorded::default()).await.unwrap();
    assert_eq!(live(&admin).await, [secret.digest()]);
    assert_eq!(left(&folder), (vec!["petstore.db.key".to_owned()], Some(text)));
}

/// Returns a store that is empty for the first two loads, and then has the key of another process. Its save has the
/// outcome of `save`.
fn contested(
    save: impl FnOnce(&ApiKey) -> Result<SaveOutcome, StoreError> + Send + 'static,
) -> MockKeyStore {
    let mut keys = MockKeyStore::new();
    keys.expect_load().times(2).returning(|_| Ok(Some(vec![].into())));
    keys.expect_save().return_once(move |_, changed, _| save(&changed[0]));
    let secret = ApiKeySecret::from_entropy(&[7; 32]);
    let name = KeyName::parse("default").unwrap();
    let another = NewApiKey::new(name, &secret, Timestamp(0), None).with_id(KeyId(1));
    keys.expect_load().returning(move |_| Ok(Some(vec![another.clone()].into())));
    keys
}

#[tokio::test]
async fn no_new_file_is_left_if_the_store_fails_or_has_a_key_meanwhile() {
    for (fails, is_new) in [(false, true), (true, true), (true, false)] {
        let (folder, file) = place();
        if !is_new {
            fs::write(&file, ApiKeySecret::from_entropy(&[8; 32]).expose()).unwrap();
        }
        let key_file = file.clone();
        let keys = contested(move |key| {
            // A crash at this moment leaves the key in the file.
            let written = fs::read_to_string(&key_file).unwrap();
            assert_eq!(ApiKeySecret::new(written.trim_end()).digest(), key.digest);
            let folder = fs::File::open(key_file.parent().unwrap()).unwrap();
            assert!(folder.try_lock().is_err(), "another process could create the key too");
            if fails { Err(StoreError::unavailable("gone")) } else { Ok(SaveOutcome::Conflict) }
        });
        let made = first(&keys, Some(&file), &mut Recorded::default()).await;
        let gone = Failure::Unreachable("gone".to_owned());
        assert_eq!(made, if fails { Err(gone) } else { Ok(()) });
        assert_eq!((left(&folder).0.is_empty(), file.exists()), (is_new, !is_new));
    }
}

#[tokio::test]
async fn a_key_created_by_another_process_is_not_shown() {
    let mut out = terminal();
    first(&contested(|_| Ok(SaveOutcome::Conflict)), None, &mut out).await.unwrap();
    assert_eq!(out.answers, format!("{BEGINNING}{MADE_ELSEWHERE}"));
}
