//! The files that SQLite keeps beside a store: after reads, after crashes, without the right to write, and files of
//! another store.

use std::{
    env,
    error::Error,
    fs,
    ops::ControlFlow,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink},
    path::Path,
    process::Command,
};

use petstore_domain::{Archive as _, Handover as _, Phase, StoreId, StoreState};
use petstore_sqlite::SqliteStore;
use petstore_storage::{Severity, UpgradeMode};
use rusqlite::Connection;

use crate::support::{Place, add, all, config, open};

/// A user without rights, because root may write every file.
const NOBODY: u32 = 65534;
const CHILD_PATH: &str = "PETSTORE_TEST_NOBODY_PATH";
const CHILD_END: &str = "PETSTORE_TEST_NOBODY_END";

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Runs the test `name` as a child process, whose error must end with `end`. If this process is root, it gives all
/// files to the user `nobody`, who runs the child process.
fn as_nobody(place: &Place, name: &str, end: &str) {
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
    command.env(CHILD_PATH, place.path()).env(CHILD_END, end);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// The `end` of a child process without an error.
const NO_ERROR: &str = "no error";

fn check_end(done: Result<(), Box<dyn Error>>) {
    let end = done.map_or_else(|refusal| refusal.to_string(), |()| NO_ERROR.to_owned());
    assert!(end.ends_with(&env::var(CHILD_END).unwrap()), "{end}");
}

/// The child process of other tests, which only reads the store. Does nothing in another process.
#[tokio::test]
async fn read() {
    let Some(path) = env::var_os(CHILD_PATH) else { return };
    let config = config(path.as_ref());
    let read = async || {
        let store = SqliteStore::open_read_only(&config)?;
        assert_eq!(all(&store).await.len(), 1);
        let mut findings = store.inspect()?.into_iter();
        if let Some(found) = findings.find(|finding| finding.severity == Severity::Error) {
            return Err(found.detail.into());
        }
        drop(store);
        SqliteStore::upgrade(&config, UpgradeMode::DryRun)?;
        Ok(())
    };
    check_end(read().await);
}

/// The child process of other tests, which writes to the store. Does nothing in another process.
#[tokio::test]
async fn serve() {
    let Some(path) = env::var_os(CHILD_PATH) else { return };
    let opened = open(path.as_ref());
    if let Ok(store) = &opened {
        add(store).await;
    }
    check_end(opened.map(drop).map_err(Into::into));
}

#[tokio::test]
async fn reading_a_read_only_file_leaves_nothing_beside_it() {
    let place = Place::new();
    add(&place.open()).await;
    set_mode(&place.path(), 0o444);
    as_nobody(&place, "read", NO_ERROR);
    assert_eq!(place.content().into_keys().collect::<Vec<_>>(), [place.path()]);
    set_mode(&place.path(), 0o600);
    as_nobody(&place, "serve", NO_ERROR);
    assert_eq!(all(&place.open()).await.len(), 2);
}

/// Makes the file read-only. Reading it must fail with an error that ends with `end`, and change no file.
fn is_not_read(place: &Place, end: &str) {
    set_mode(&place.path(), 0o444);
    let before = place.content();
    as_nobody(place, "read", end);
    assert!(place.content() == before);
}

/// A journal may hold what the file lacks, and this user could not roll it back.
#[tokio::test]
async fn a_read_only_file_with_an_unfinished_journal_is_not_read() {
    let place = Place::new();
    add(&place.open()).await;
    let connection = Connection::open(place.path()).unwrap();
    // Without synchronization, SQLite writes the head of a journal at once.
    let begins = "PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF; BEGIN; DELETE FROM pet";
    connection.execute_batch(begins).unwrap();
    let crashed = crash(&place);
    assert!(crashed.beside("-journal").exists());
    is_not_read(&crashed, "give this user read and write access to the file and its directory");
}

/// A user who may not write the file could not remove the `-shm` that SQLite adds.
#[tokio::test]
async fn reading_the_log_of_a_read_only_file_is_refused_and_adds_no_file() {
    let place = Place::new();
    let store = place.open();
    add(&store).await;
    let crashed = crash(&place);
    fs::remove_file(crashed.beside("-shm")).unwrap();
    let end = "SQLite cannot open it; give this user access to the file and its directory, or allow more open \
               files ('ulimit -n')";
    is_not_read(&crashed, end);
}

#[tokio::test]
async fn the_error_for_an_unwritable_companion_file_names_it() {
    let place = Place::new();
    let store = place.open();
    add(&store).await;
    let crashed = crash(&place);
    let companions = ["-wal", "-shm"].map(|suffix| crashed.beside(suffix));
    for companion in &companions {
        set_mode(companion, 0o444);
    }
    for companion in companions {
        let refusal = format!(
            "permission denied for {} beside it; give this user read and write access to that file, too \
             ('chmod u+rw')",
            companion.display()
        );
        as_nobody(&crashed, "read", &refusal);
        as_nobody(&crashed, "serve", &refusal);
        set_mode(&companion, 0o644);
    }
    as_nobody(&crashed, "serve", NO_ERROR);
    assert_eq!(all(&crashed.open()).await.len(), 2);
}

#[tokio::test]
async fn the_log_of_another_store_is_refused_and_all_files_stay_as_they_are() {
    let (place, other) = (Place::new(), Place::new());
    add(&place.open()).await;
    let store = other.open();
    add(&store).await;
    let log = place.beside("-wal");
    fs::copy(other.beside("-wal"), &log).unwrap();
    let before = place.content();
    let [copy, link] = ["copy.db", "link.db"].map(|name| other.directory().join(name));
    fs::write(&copy, "").unwrap();
    // SQLite takes the log beside the file, not beside a link to the file.
    symlink(place.path(), &link).unwrap();
    let watch = &mut |_, _| ControlFlow::Continue(());
    for refusal in [
        place.try_open().unwrap_err().to_string(),
        open(&link).unwrap_err().to_string(),
        SqliteStore::open_read_only(&place.config()).unwrap_err().to_string(),
        SqliteStore::upgrade(&place.config(), UpgradeMode::DryRun).unwrap_err().to_string(),
        SqliteStore::back_up(&place.config(), &copy, watch).unwrap_err().to_string(),
    ] {
        let expected = format!("{} beside it is the log of another store", log.display());
        assert!(refusal.contains(&expected), "{refusal}");
        assert_eq!(refusal.matches("the store").count(), 1, "{refusal}");
    }
    assert!(place.content() == before);
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

/// Returns the state of the store with another identity.
async fn renamed(store: &SqliteStore, number: u8) -> StoreState {
    let state = store.state().await.unwrap();
    StoreState { id: StoreId([number; 16]), ..state.next(state.phase.clone()) }
}

async fn change_identity(store: &SqliteStore, number: u8) {
    let new = renamed(store, number).await;
    assert!(store.change_state(new.revision - 1, new).await.unwrap());
}

/// A change of the identity is in the log first, and in the file after a checkpoint.
#[tokio::test]
async fn a_store_opens_after_a_crash_at_any_step_of_a_change_of_its_identity() {
    let place = Place::new();
    let store = place.open();
    add(&store).await;
    for number in 1..4 {
        change_identity(&store, number).await;
        let only_renamed = crash(&place);
        add(&store).await;
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
            assert_eq!(opened.state().await.unwrap().id, StoreId([number; 16]));
            assert_eq!(all(&opened).await.len(), animals);
        }
    }
}

#[tokio::test]
async fn the_log_of_a_copy_with_a_new_identity_is_refused_beside_the_original() {
    let original = Place::new();
    add(&original.open()).await;
    let copy = crash(&original);
    let store = copy.open();
    change_identity(&store, 7).await;
    add(&original.open()).await;
    fs::copy(copy.beside("-wal"), original.beside("-wal")).unwrap();
    let refusal = original.try_open().unwrap_err().to_string();
    assert!(refusal.contains("is the log of another store"), "{refusal}");
}

#[tokio::test]
async fn reading_the_log_after_a_crash_adds_no_file() {
    let place = Place::new();
    let store = place.open();
    add(&store).await;
    let crashed = crash(&place);
    fs::remove_file(crashed.beside("-shm")).unwrap();
    let before = crashed.content();
    let reader = SqliteStore::open_read_only(&crashed.config()).unwrap();
    let snapshot = reader.snapshot().await.unwrap();
    assert_eq!(all(&reader).await.len(), 1);
    drop(reader);
    drop(snapshot);
    assert!(crashed.content() == before);
    let written = crash(&crashed);
    drop(written.open());
    assert!(written.content().into_keys().eq([written.path()]));
    let reader = SqliteStore::open_read_only(&crashed.config()).unwrap();
    // While another connection has the store open, `-shm` is not removed.
    let other = crashed.raw();
    let count = || other.query_row("SELECT count(*) FROM pet", [], |row| row.get::<_, i64>(0));
    assert_eq!(count().unwrap(), 1);
    drop(reader);
    assert!(crashed.beside("-shm").exists());
    add(&crashed.open()).await;
    assert_eq!(count().unwrap(), 2);
}

/// After a crash, `check_log` accepts the log only if the file still has the state from before the change.
#[tokio::test]
async fn an_identity_is_changed_only_while_the_log_is_empty() {
    let place = Place::new();
    let store = place.open();
    add(&store).await;
    let reader = place.raw();
    reader.execute_batch("BEGIN; SELECT count(*) FROM pet").unwrap();
    add(&store).await;
    let state = store.state().await.unwrap();
    let new = renamed(&store, 7).await;
    let refusal = store.change_state(state.revision, new).await.unwrap_err().to_string();
    assert!(refusal.contains("the identity was not changed"), "{refusal}");
    assert_eq!(store.state().await.unwrap(), state);
    // Other changes of the state do not need an empty log.
    let sealed = state.next(Phase::Sealed { to: StoreId([8; 16]), label: "x".to_owned() });
    assert!(store.change_state(state.revision, sealed).await.unwrap());
    drop(reader);
    change_identity(&store, 7).await;
}
