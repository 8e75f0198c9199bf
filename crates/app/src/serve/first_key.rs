//! The first key of a store that has none.

use petstore_domain::{KeyAdmin, KeyName, KeyRights};

use crate::{
    console::{Output, stdout_failed},
    failure::Failure,
    keys, secret,
    serve::place::Place,
};

const NAME: &str = "default";
const BEGINNING: &str = "This store has no API key yet, so one named 'default' is made.\n";
const MADE_ELSEWHERE: &str = "Another process has just made it, and has shown it.\n";

/// Makes a key and shows it, if the store has none at all, neither live nor revoked, and stdout has
/// a reader.
///
/// Stdout is tried before the key is made, so that a service that cannot show it starts the next
/// time as if it had never been started.
pub(super) async fn ensure(
    admin: &KeyAdmin,
    place: &Place,
    out: &mut impl Output,
) -> Result<(), Failure> {
    let (present, _) = admin.list().await.map_err(Failure::runtime)?;
    if !present.is_empty() {
        return Ok(());
    }
    if out.has_reader().is_err() {
        // The key would be lost. The service runs, and the log says how to make one.
        return Ok(());
    }
    out.answer(BEGINNING).map_err(|error| stdout_failed(&error))?;
    let secret = secret::new(KeyRights::Full)?;
    let name = KeyName::parse(NAME).map_err(Failure::runtime)?;
    let made = admin.create_first(name, &secret).await.map_err(Failure::runtime)?;
    let Some(key) = made else {
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
        Err(lost) => Err(keys::take_back(admin, &key, &lost).await),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use petstore_domain::{
        AddKeyError, ApiKeySecret, Corruption, KeyAdmin, KeyState, ManualClock,
        MockApiKeyRepository, StoredKeys, Timestamp,
    };
    use petstore_memory::MemoryStore;

    use super::ensure;
    use crate::{console::recorded::Recorded, failure::Failure, serve::place::Place};

    const ADDRESS: &str = "0.0.0.0:4321";

    fn admin() -> KeyAdmin {
        KeyAdmin::new(Arc::new(MemoryStore::new()), Arc::new(ManualClock::new(Timestamp(0))))
    }

    async fn first(admin: &KeyAdmin, out: &mut Recorded) -> Result<(), Failure> {
        ensure(admin, &Place::Tcp { scheme: "http", address: ADDRESS.parse().unwrap() }, out).await
    }

    #[tokio::test]
    async fn the_first_key_is_shown_once_with_a_call_that_works() {
        let (admin, mut out) = (admin(), Recorded::default());
        first(&admin, &mut out).await.unwrap();
        let text = std::mem::take(&mut out.answers);
        let secret = text.lines().find(|line| line.starts_with("pst_")).unwrap();
        let call =
            format!("curl -H 'Authorization: Bearer {secret}' http://127.0.0.1:4321/v1/pets");
        assert!(text.lines().any(|line| line == call), "{text}");

        let (StoredKeys { keys, .. }, now) = admin.list().await.unwrap();
        assert_eq!(keys.len(), 1);
        assert_eq!(keys[0].name.as_str(), "default");
        assert_eq!(keys[0].digest, ApiKeySecret::new(secret).digest());
        assert_eq!(keys[0].state(now), KeyState::Live);

        first(&admin, &mut out).await.unwrap();
        assert_eq!((out.answers.as_str(), admin.list().await.unwrap().0.keys.len()), ("", 1));
    }

    #[tokio::test]
    async fn without_a_reader_no_key_is_made_and_the_next_start_makes_it() {
        let admin = admin();
        let mut closed = Recorded { closed: true, ..Recorded::default() };
        first(&admin, &mut closed).await.unwrap();
        assert!(admin.list().await.unwrap().0.is_empty());
        let mut broken = Recorded { breaks_after: Some(0), ..Recorded::default() };
        assert!(matches!(first(&admin, &mut broken).await, Err(Failure::Runtime(_))));
        assert!(admin.list().await.unwrap().0.is_empty());
        let mut out = Recorded::default();
        first(&admin, &mut out).await.unwrap();
        assert!(out.answers.contains("pst_"));
    }

    #[tokio::test]
    async fn a_key_that_was_lost_on_its_way_is_revoked() {
        let admin = admin();
        let mut breaking = Recorded { breaks_after: Some(1), ..Recorded::default() };
        let failure = first(&admin, &mut breaking).await.unwrap_err();
        assert!(failure.to_string().contains("was revoked"), "{failure}");
        let (StoredKeys { keys, .. }, now) = admin.list().await.unwrap();
        assert_eq!(keys[0].state(now), KeyState::Revoked);
    }

    #[tokio::test]
    async fn a_store_whose_only_key_is_corrupt_has_a_key() {
        let mut keys = MockApiKeyRepository::new(); // No key may be added.
        let corrupt = vec![Corruption::new("API key 1", "a digest has 32 bytes")];
        keys.expect_list()
            .returning(move || Ok(StoredKeys { keys: vec![], corrupt: corrupt.clone() }));
        let admin = KeyAdmin::new(Arc::new(keys), Arc::new(ManualClock::new(Timestamp(0))));
        let mut out = Recorded::default();
        first(&admin, &mut out).await.unwrap();
        assert_eq!(out.answers, "");
    }

    #[tokio::test]
    async fn a_key_that_another_process_made_is_not_shown() {
        let mut keys = MockApiKeyRepository::new();
        keys.expect_list().returning(|| Ok(StoredKeys::default()));
        keys.expect_add().once().returning(|_, _| Err(AddKeyError::NameTaken));
        let admin = KeyAdmin::new(Arc::new(keys), Arc::new(ManualClock::new(Timestamp(0))));
        let mut out = Recorded::default();
        first(&admin, &mut out).await.unwrap();
        assert!(!out.answers.contains("pst_"), "{}", out.answers);
    }
}
