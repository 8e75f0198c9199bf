//! Opens the store of a command, and closes the store after the work, also if the work fails.

use petstore_storage::Severity;

use crate::{
    stores::{BoxError, OpenMode, OpenStore, StoreLocation, StoreNotFound},
    system::{Console, Failure, Output as _},
};

/// The end of a message about a missing store: the commands that create a store.
const MAKERS: &str =
    "'petstore serve', 'petstore keys create' and 'petstore import --create' make one";

/// The subject of a finding about damaged rows or indexes.
const INTEGRITY: &str = "integrity";

/// Opens a store, runs `work` on it, and closes it, also if `work` fails. Prints the place of a store that opening has
/// created, because the URL may be mistyped.
pub(crate) async fn with_store<T>(
    location: &dyn StoreLocation,
    mode: OpenMode,
    work: impl AsyncFnOnce(&OpenStore) -> Result<T, Failure>,
) -> Result<T, Failure> {
    with_opened(location.open(mode.into()).await.map_err(not_open)?, work).await
}

/// Runs `work` on an open store, and closes the store, as [`with_store`] does.
pub(crate) async fn with_opened<T>(
    store: OpenStore,
    work: impl AsyncFnOnce(&OpenStore) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if let Some(place) = &store.created_at {
        Console.note(&format!("made a new store: {place}"));
    }
    let done = work(&store).await;
    store.close().await;
    done
}

/// Refuses a store file in a missing directory, for example because a disk is not mounted yet.
pub(crate) fn require_folder(location: &dyn StoreLocation) -> Result<(), Failure> {
    let path = location.restore_path().filter(|path| path.parent().is_some_and(|it| !it.exists()));
    let Some(path) = path else { return Ok(()) };
    let path = path.display();
    Err(Failure::runtime(format!("cannot open {path}: its directory does not exist; create it")))
}

/// Refuses a store whose inspection finds damage, because a copy or an export might lack animals.
pub(crate) async fn require_undamaged(location: &dyn StoreLocation) -> Result<(), Failure> {
    let findings = location.inspect().await.map_err(Failure::of_store)?;
    let mut errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
    errors.find(|finding| finding.subject == INTEGRITY).map_or(Ok(()), |damage| {
        Err(Failure::runtime(format!("{location} is damaged: {}", damage.detail)))
    })
}

/// Returns why a command cannot open a store. Names the commands that create a missing store.
pub(crate) fn not_open(problem: BoxError) -> Failure {
    not_open_but(problem, MAKERS)
}

/// Returns why a store cannot be opened. `makers` says what creates a missing store.
pub(crate) fn not_open_but(problem: BoxError, makers: &str) -> Failure {
    match problem.downcast_ref::<StoreNotFound>() {
        Some(missing) => Failure::runtime(format!("{missing}; {makers}")),
        None => Failure::of_store(problem),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        path::Path,
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
    };

    use petstore_memory::MemoryStore;
    use petstore_storage::UpgradeMode;

    use super::with_store;
    use crate::{
        stores::{OpenMode, OpenStore, StoreLocation as _, tests::OpensWith},
        system::Failure,
    };

    #[tokio::test]
    async fn a_store_is_closed_even_if_the_work_on_the_store_fails() {
        for fails in [false, true] {
            let is_closed = Arc::new(AtomicBool::new(false));
            let flag = is_closed.clone();
            let location = OpensWith(move || {
                let flag = flag.clone();
                let store = OpenStore::new(Arc::new(MemoryStore::new()));
                Ok(store.with_close(async move { flag.store(true, Ordering::Relaxed) }))
            });
            let done = with_store(&location, OpenMode::Create, async |_| {
                assert!(!is_closed.load(Ordering::Relaxed));
                if fails { Err(Failure::runtime("early")) } else { Ok(()) }
            });
            assert_eq!(done.await.is_err(), fails);
            assert!(is_closed.load(Ordering::Relaxed));
        }
    }

    #[tokio::test]
    async fn a_store_of_an_adapter_with_few_methods_is_neither_copied_backed_up_nor_upgraded() {
        let location = OpensWith(|| unreachable!());
        let store = OpenStore::new(Arc::new(MemoryStore::new()));
        let refusal = store.copy_ports(&location).map(drop).unwrap_err().to_string();
        assert!(refusal.starts_with("test: has no archive, so it cannot be copied"), "{refusal}");
        let refusal = location.back_up(Path::new("copy"), Box::new(|_, _| unreachable!())).await;
        let refusal = refusal.unwrap_err().to_string();
        assert!(refusal.ends_with("'petstore export' writes its animals down"), "{refusal}");
        let upgrade = location.upgrade(UpgradeMode::Run).await.unwrap().unwrap();
        assert_eq!((upgrade.steps, upgrade.saved_to), (vec![], None));
    }
}
