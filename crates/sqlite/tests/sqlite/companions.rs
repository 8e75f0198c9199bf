//! The files that SQLite has beside a store: after a look by a user who may not write, and of another store.

use std::{
    env, fs,
    ops::ControlFlow,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::Command,
};

use petstore_domain::{Handover as _, Phase, StoreId, StoreState};
use petstore_sqlite::SqliteStore;
use petstore_storage::{Severity, UpgradeMode};

use crate::support::{Place, add, all, open, rex};

/// The user who owns a place: root may write everything.
const NOBODY: u32 = 65534;
const CHILD_PATH: &str = "PETSTORE_TEST_NOBODY_PATH";
const CHILD_REFUSAL: &str = "PETSTORE_TEST_NOBODY_REFUSAL";

fn beside(place: &Place, suffix: &str) -> PathBuf {
    let mut name = place.path().into_os_string();
    name.push(suffix);
    name.into()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Gives everything to nobody, who then runs the test `name` as a child process.
fn as_nobody(place: &Place, name: &str, refusal: &str) {
    let executable = env::current_exe().unwrap();
    let mut command = Command::new(&executable);
    if is_root() {
        for path in place.content().into_keys().chain([place.directory().to_owned()]) {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&executable);
    }
    command.args(["--exact", &format!("companions::{name}")]);
    command.env(CHILD_PATH, place.path()).env(CHILD_REFUSAL, refusal);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// Does nothing unless it runs as a child process.
#[tokio::test]
async fn look() {
    let Some(path) = env::var_os(CHILD_PATH) else { return };
    let config = petstore_sqlite::SqliteConfig {
        path: path.into(),
        synchronous: petstore_sqlite::Synchronous::Full,
    };
    let store = SqliteStore::open_read_only(&config).unwrap();
    assert_eq!(all(&store).await.len(), 1);
    let findings = store.inspect().unwrap();
    assert!(findings.iter().all(|finding| finding.severity != Severity::Error), "{findings:?}");
    drop(store);
    SqliteStore::upgrade(&config, UpgradeMode::DryRun).unwrap();
}

/// Does nothing unless it runs as a child process.
#[tokio::test]
async fn serve() {
    let Some(path) = env::var_os(CHILD_PATH) else { return };
    let expected = env::var(CHILD_REFUSAL).unwrap();
    match open(path.as_ref()) {
        Ok(store) => {
            assert_eq!(expected, "");
            add(&store, rex()).await;
        }
        Err(refusal) => {
            let refusal = refusal.to_string();
            assert!(!expected.is_empty() && refusal.ends_with(&expected), "{refusal}");
        }
    }
}

#[tokio::test]
async fn a_look_at_a_read_only_file_leaves_nothing_beside_it() {
    let place = Place::new();
    add(&place.open(), rex()).await;
    set_mode(&place.path(), 0o444);
    as_nobody(&place, "look", "");
    assert_eq!(place.content().into_keys().collect::<Vec<_>>(), [place.path()]);
    set_mode(&place.path(), 0o600);
    as_nobody(&place, "serve", "");
    assert_eq!(all(&place.open()).await.len(), 2);
}

#[tokio::test]
async fn a_companion_that_cannot_be_written_is_named() {
    let place = Place::new();
    add(&place.open(), rex()).await;
    // As a look with petstore 1.2.0 has left them.
    for suffix in ["-wal", "-shm"] {
        fs::write(beside(&place, suffix), "").unwrap();
        set_mode(&beside(&place, suffix), 0o444);
    }
    for suffix in ["-wal", "-shm"] {
        let companion = beside(&place, suffix);
        let refusal = format!(
            "permission denied for {} beside it; give this user read and write access to that file, too \
             ('chmod u+rw')",
            companion.display()
        );
        as_nobody(&place, "serve", &refusal);
        set_mode(&companion, 0o644);
    }
    as_nobody(&place, "serve", "");
    assert_eq!(all(&place.open()).await.len(), 2);
}

#[tokio::test]
async fn the_log_of_another_store_is_refused_and_both_files_stay_as_they_are() {
    let (place, other) = (Place::new(), Place::new());
    add(&place.open(), rex()).await;
    let store = other.open();
    add(&store, rex()).await;
    let log = beside(&place, "-wal");
    fs::copy(beside(&other, "-wal"), &log).unwrap();
    let before = [place.path(), log.clone()].map(|path| fs::read(path).unwrap());
    let copy = other.directory().join("copy.db");
    fs::write(&copy, "").unwrap();
    let expected = format!("{} beside it is the log of another store", log.display());
    for refusal in [
        place.try_open().unwrap_err().to_string(),
        SqliteStore::open_read_only(&place.config()).unwrap_err().to_string(),
        SqliteStore::upgrade(&place.config(), UpgradeMode::DryRun).unwrap_err().to_string(),
        SqliteStore::back_up(&place.config(), &copy, &mut |_| ControlFlow::Continue(()))
            .unwrap_err()
            .to_string(),
    ] {
        assert!(refusal.contains(&expected), "{refusal}");
    }
    let after = [place.path(), log.clone()].map(|path| fs::read(path).unwrap());
    assert!(before == after);
    // Without it, the store is whole.
    fs::remove_file(log).unwrap();
    assert_eq!(all(&place.open()).await.len(), 1);
}

#[tokio::test]
async fn a_store_whose_identity_was_changed_a_moment_before_a_crash_is_opened() {
    let place = Place::new();
    let store = place.open();
    add(&store, rex()).await;
    let state = store.state().await.unwrap();
    let new = StoreState { id: StoreId([7; 16]), ..state.next(state.phase.clone()) };
    assert!(store.change_state(state.revision, new.clone()).await.unwrap());
    add(&store, rex()).await;
    // A crash would leave the files that the disk holds now.
    let crashed = Place::new();
    for (path, bytes) in place.content() {
        fs::write(crashed.directory().join(path.file_name().unwrap()), bytes).unwrap();
    }
    let opened = crashed.open();
    assert_eq!(opened.state().await.unwrap().id, new.id);
    assert_eq!(all(&opened).await.len(), 2);
}

/// A crash behind the change would leave a log whose identity is not the file's, and the animals in it would go with it.
#[tokio::test]
async fn an_identity_is_changed_only_while_the_log_holds_nothing() {
    let place = Place::new();
    let store = place.open();
    add(&store, rex()).await;
    let reader = place.raw();
    reader.execute_batch("BEGIN; SELECT count(*) FROM pet").unwrap();
    add(&store, rex()).await;
    let state = store.state().await.unwrap();
    let new = StoreState { id: StoreId([7; 16]), ..state.next(state.phase.clone()) };
    let refusal = store.change_state(state.revision, new.clone()).await.unwrap_err().to_string();
    assert!(refusal.contains("the identity was not changed"), "{refusal}");
    assert_eq!(store.state().await.unwrap(), state);
    // Another change of the state needs no empty log.
    let sealed = state.next(Phase::Sealed { to: StoreId([8; 16]), label: "x".to_owned() });
    assert!(store.change_state(state.revision, sealed.clone()).await.unwrap());
    drop(reader);
    let new = StoreState { revision: sealed.revision + 1, ..new };
    assert!(store.change_state(sealed.revision, new.clone()).await.unwrap());
    assert_eq!(store.state().await.unwrap().id, new.id);
}
