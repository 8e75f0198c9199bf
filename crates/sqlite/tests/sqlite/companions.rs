//! The files that SQLite keeps beside a store: after reads, after crashes, without the right to write, and files of
//! another store.

use std::{
    env, fs,
    ops::ControlFlow,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use petstore_domain::{Archive as _, Handover as _, Phase, StoreId, StoreState};
use petstore_sqlite::SqliteStore;
use petstore_storage::{Severity, UpgradeMode};

use crate::support::{Place, add, all, open, rex};

/// A user without rights, because root may write every file.
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

/// Runs the test `name` as a child process, which expects `refusal` in the error, or success if `refusal` is empty. If
/// this process is root, it gives all files to the user `nobody`, who runs the child process.
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

/// The child process of other tests, which only reads the store. Does nothing in another process.
#[tokio::test]
async fn read() {
    let Some(path) = env::var_os(CHILD_PATH) else { return };
    let config = petstore_sqlite::SqliteConfig {
        path: path.into(),
        synchronous: petstore_sqlite::Synchronous::Full,
    };
    let opened = SqliteStore::open_read_only(&config);
    let refusal = env::var(CHILD_REFUSAL).unwrap();
    if !refusal.is_empty() {
        assert!(opened.unwrap_err().to_string().contains(&refusal));
        return;
    }
    let store = opened.unwrap();
    assert_eq!(all(&store).await.len(), 1);
    let findings = store.inspect().unwrap();
    assert!(findings.iter().all(|finding| finding.severity != Severity::Error), "{findings:?}");
    drop(store);
    SqliteStore::upgrade(&config, UpgradeMode::DryRun).unwrap();
}

/// The child process of other tests, which writes to the store. Does nothing in another process.
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
async fn reading_a_read_only_file_leaves_nothing_beside_it() {
    let place = Place::new();
    add(&place.open(), rex()).await;
    set_mode(&place.path(), 0o444);
    as_nobody(&place, "read", "");
    assert_eq!(place.content().into_keys().collect::<Vec<_>>(), [place.path()]);
    set_mode(&place.path(), 0o600);
    as_nobody(&place, "serve", "");
    assert_eq!(all(&place.open()).await.len(), 2);
}

/// A user who may not write the file could not remove the `-shm` that SQLite adds.
#[tokio::test]
async fn reading_the_log_of_a_read_only_file_is_refused_and_adds_no_file() {
    let place = Place::new();
    let store = place.open();
    add(&store, rex()).await;
    let crashed = crash(&place);
    fs::remove_file(beside(&crashed, "-shm")).unwrap();
    set_mode(&crashed.path(), 0o444);
    let before = crashed.content();
    as_nobody(&crashed, "read", "SQLite cannot open it; give this user access to the file");
    assert!(crashed.content() == before);
}

#[tokio::test]
async fn the_error_for_an_unwritable_companion_file_names_it() {
    let place = Place::new();
    add(&place.open(), rex()).await;
    // `check` of petstore 1.2.0 left such files.
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
        SqliteStore::back_up(&place.config(), &copy, &mut |_, _| ControlFlow::Continue(()))
            .unwrap_err()
            .to_string(),
    ] {
        assert!(refusal.contains(&expected), "{refusal}");
    }
    // SQLite takes the log beside the file, not beside a link to the file.
    let link = other.directory().join("link.db");
    symlink(place.path(), &link).unwrap();
    let refusal = open(&link).unwrap_err().to_string();
    assert!(refusal.contains(&expected), "{refusal}");
    let after = [place.path(), log.clone()].map(|path| fs::read(path).unwrap());
    assert!(before == after);
    // Without the log, the store opens.
    fs::remove_file(log).unwrap();
    assert_eq!(all(&place.open()).await.len(), 1);
}

/// Copies the files of `place` as a crash now would leave them.
fn crash(place: &Place) -> Place {
    let crashed = Place::new();
    for (path, bytes) in place.content() {
        fs::write(crashed.directory().join(path.file_name().unwrap()), bytes).unwrap();
    }
    crashed
}

/// A change of the identity is in the log first, and in the file after a checkpoint.
#[tokio::test]
async fn a_store_opens_after_a_crash_at_any_step_of_a_change_of_its_identity() {
    let place = Place::new();
    let store = place.open();
    add(&store, rex()).await;
    for number in 1..4 {
        let state = store.state().await.unwrap();
        let new = StoreState { id: StoreId([number; 16]), ..state.next(state.phase.clone()) };
        let renamed = store.change_state(state.revision, new.clone());
        assert!(renamed.await.unwrap());
        let only_renamed = crash(&place);
        add(&store, rex()).await;
        let written_to = crash(&place);
        // A checkpoint writes pages to the file before it truncates the log. At a crash, only some of the pages may be
        // written.
        let checkpointed = crash(&place);
        checkpointed.raw().query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).unwrap();
        let partly = crash(&written_to);
        let pages = |place: &Place| fs::read(place.path()).unwrap();
        let half: Vec<u8> = pages(&written_to)
            .chunks(4096)
            .zip(pages(&checkpointed).chunks(4096))
            .enumerate()
            .flat_map(|(page, (old, new))| if page % 2 == 0 { old } else { new }.to_vec())
            .collect();
        fs::write(partly.path(), half).unwrap();
        for (crashed, animals) in [
            (only_renamed, usize::from(number)),
            (written_to, usize::from(number) + 1),
            (partly, usize::from(number) + 1),
        ] {
            SqliteStore::open_read_only(&crashed.config()).unwrap();
            let opened = crashed.open();
            assert_eq!(opened.state().await.unwrap().id, new.id);
            assert_eq!(all(&opened).await.len(), animals);
        }
    }
}

#[tokio::test]
async fn the_log_of_a_copy_with_a_new_identity_is_refused_beside_the_original() {
    let original = Place::new();
    add(&original.open(), rex()).await;
    let copy = crash(&original);
    let store = copy.open();
    let state = store.state().await.unwrap();
    let new = StoreState { id: StoreId([7; 16]), ..state.next(state.phase.clone()) };
    assert!(store.change_state(state.revision, new).await.unwrap());
    add(&original.open(), rex()).await;
    fs::copy(beside(&copy, "-wal"), beside(&original, "-wal")).unwrap();
    let refusal = original.try_open().unwrap_err().to_string();
    assert!(refusal.contains("is the log of another store"), "{refusal}");
}

#[tokio::test]
async fn reading_the_log_after_a_crash_adds_no_file() {
    let place = Place::new();
    let store = place.open();
    add(&store, rex()).await;
    let crashed = crash(&place);
    fs::remove_file(beside(&crashed, "-shm")).unwrap();
    let before = crashed.content();
    let reader = SqliteStore::open_read_only(&crashed.config()).unwrap();
    let snapshot = reader.snapshot().await.unwrap();
    assert_eq!(all(&reader).await.len(), 1);
    drop(reader);
    drop(snapshot);
    assert!(crashed.content() == before);
    let reader = SqliteStore::open_read_only(&crashed.config()).unwrap();
    // While another connection has the store open, `-shm` is not removed.
    let other = crashed.raw();
    let count = || other.query_row("SELECT count(*) FROM pet", [], |row| row.get::<_, i64>(0));
    assert_eq!(count().unwrap(), 1);
    drop(reader);
    assert!(beside(&crashed, "-shm").exists());
    add(&crashed.open(), rex()).await;
    assert_eq!(count().unwrap(), 2);
}

#[tokio::test]
async fn a_refused_opening_adds_no_file() {
    let (place, other) = (Place::new(), Place::new());
    add(&place.open(), rex()).await;
    let store = other.open();
    add(&store, rex()).await;
    fs::copy(beside(&other, "-wal"), beside(&place, "-wal")).unwrap();
    let before = place.content();
    place.try_open().unwrap_err();
    assert!(place.content() == before);
}

/// After a crash, `check_log` accepts the log only if the file still has the state from before the change.
#[tokio::test]
async fn an_identity_is_changed_only_while_the_log_is_empty() {
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
    // Other changes of the state do not need an empty log.
    let sealed = state.next(Phase::Sealed { to: StoreId([8; 16]), label: "x".to_owned() });
    assert!(store.change_state(state.revision, sealed.clone()).await.unwrap());
    drop(reader);
    let new = StoreState { revision: sealed.revision + 1, ..new };
    assert!(store.change_state(sealed.revision, new.clone()).await.unwrap());
    assert_eq!(store.state().await.unwrap().id, new.id);
}
