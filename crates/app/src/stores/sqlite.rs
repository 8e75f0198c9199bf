//! `sqlite:PATH`, a SQLite file.

use std::{
    fmt, fs, io,
    os::unix::fs::MetadataExt as _,
    path::{self, Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use petstore_domain::StoreError;
use petstore_http::Sample;
use petstore_sqlite::{Activity, SqliteConfig, SqliteSettings, SqliteStore, Synchronous, beside};
use petstore_storage::{Finding, Upgrade, UpgradeMode};
use rustix::fs::statvfs;
use tokio::task;
use tokio_util::sync::CancellationToken;

use crate::stores::{
    BoxError, OnBackupProgress, OpenMode, OpenOptions, OpenStore, StoreDriver, StoreLocation,
    StoreNotFound, background::with_all_ports,
};

/// The driver of `sqlite:PATH`.
pub(super) const DRIVER: StoreDriver = StoreDriver {
    schemes: &["sqlite"],
    usage: "sqlite:PATH",
    summary: "a SQLite file on a local disk; PATH?synchronous=normal|full|extra says what a commit waits for",
    is_persistent: true,
    parse: |url| Ok(Arc::new(DatabaseFile(parse(url)?))),
};

/// The query of a URL for each setting. A displayed URL leaves out the default, `synchronous=full`.
const QUERIES: [(&str, Synchronous); 3] = [
    ("synchronous=normal", Synchronous::Normal),
    ("synchronous=full", Synchronous::Full),
    ("synchronous=extra", Synchronous::Extra),
];

struct DatabaseFile(SqliteConfig);

/// Returns the location of a SQLite file, such as a backup.
pub(crate) fn in_file(path: PathBuf) -> Arc<dyn StoreLocation> {
    Arc::new(DatabaseFile(SqliteConfig { path, synchronous: Synchronous::Full }))
}

impl fmt::Display for DatabaseFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SqliteConfig { path, synchronous } = &self.0;
        write!(f, "sqlite:{}", path.display())?;
        let query = QUERIES.iter().find(|(_, it)| it == synchronous && *it != Synchronous::Full);
        query.map_or(Ok(()), |(query, _)| write!(f, "?{query}"))
    }
}

#[async_trait]
impl StoreLocation for DatabaseFile {
    async fn open(&self, options: OpenOptions) -> Result<OpenStore, BoxError> {
        if options.mode != OpenMode::Create {
            require_store(&self.0.path)?;
        }
        let panicked = CancellationToken::new();
        let settings = SqliteSettings {
            read_only: options.mode == OpenMode::ReadOnly,
            reads_while_sealed: options.reads_while_sealed,
            on_task_panic: panicked.clone(),
        };
        let store = SqliteStore::open_with(&self.0, &settings);
        let store = Arc::new(store.map_err(StoreError::from)?);
        let path = self.0.path.clone();
        let opened = with_all_ports(&store, panicked, samples, move |_| {
            let path = path.clone();
            // On a blocking thread, because the file system may hang.
            let sizes = task::spawn_blocking(move || sizes(&path));
            async { sizes.await.unwrap_or_default() }
        });
        if !store.was_created() {
            return Ok(opened);
        }
        let path = path::absolute(&self.0.path)?;
        Ok(opened.newly_created(format_args!("sqlite:{}", path.display())))
    }

    /// Returns the device and the inode, which are the same for symbolic and hard links to the file.
    async fn identity(&self) -> Option<String> {
        let file = fs::metadata(&self.0.path).ok()?;
        Some(format!("sqlite:{}:{}", file.dev(), file.ino()))
    }

    fn first_key_path(&self) -> Option<PathBuf> {
        path::absolute(&self.0.path).ok().map(|path| beside(&path, ".key"))
    }

    fn restore_path(&self) -> Option<PathBuf> {
        path::absolute(&self.0.path).ok()
    }

    async fn upgrade(&self, mode: UpgradeMode) -> Result<Option<Upgrade>, BoxError> {
        let config = self.0.clone();
        let upgrade = task::spawn_blocking(move || SqliteStore::upgrade(&config, mode)).await?;
        Ok(upgrade.map_err(StoreError::from)?)
    }

    async fn inspect(&self) -> Result<Vec<Finding>, BoxError> {
        require_store(&self.0.path)?;
        let config = self.0.clone();
        task::spawn_blocking(move || Ok(SqliteStore::open_read_only(&config)?.inspect()?)).await?
    }

    async fn back_up(&self, to: &Path, mut on_progress: OnBackupProgress) -> Result<(), BoxError> {
        require_store(&self.0.path)?;
        let (config, to) = (self.0.clone(), to.to_owned());
        task::spawn_blocking(move || Ok(SqliteStore::back_up(&config, &to, &mut on_progress)?))
            .await?
    }
}

const NO_PATH: &str = "no path is given; use sqlite:PATH, for example sqlite:petstore.db";

/// Parses the URL. The error quotes no part of the URL, because it may contain the password of a database. The path is
/// not percent-encoded, and contains no `?`.
fn parse(url: &str) -> Result<SqliteConfig, &'static str> {
    let rest = url.strip_prefix("sqlite:").ok_or(NO_PATH)?;
    let (path, query) = rest.split_once('?').unwrap_or((rest, "synchronous=full"));
    // Other programs write sqlite::memory:, sqlite://:memory: or sqlite:///:memory:.
    if path.ends_with(":memory:") {
        return Err("a store in memory is written memory: alone, and only serve takes it");
    }
    let path = match path.strip_prefix("//") {
        None if !path.is_empty() => path.to_owned(),
        // Two slashes at the start would look like a host when the URL is displayed.
        Some(path) if path.starts_with('/') => format!("/{}", path.trim_start_matches('/')),
        None | Some("") => return Err(NO_PATH),
        Some(_) => {
            return Err(
                "a host cannot be given; for a relative path use sqlite:PATH, for an absolute one sqlite:/PATH",
            );
        }
    };
    let known = QUERIES.into_iter().find(|(known, _)| *known == query);
    let (_, synchronous) = known.ok_or("the only parameter is synchronous=normal|full|extra")?;
    Ok(SqliteConfig { path: path.into(), synchronous })
}

/// Refuses a missing or an empty file. Only `OpenMode::Create` creates a store there.
fn require_store(path: &Path) -> Result<(), BoxError> {
    let shown = path.display();
    let missing = || Err(StoreNotFound::new(format_args!("there is no store at {shown}")).into());
    match fs::metadata(path) {
        Ok(file) if file.is_file() && file.len() == 0 => missing(),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => missing(),
        Err(error) => Err(format!("cannot look for {shown}: {error}").into()),
    }
}

/// Returns the sizes of the file and of its write-ahead log, and the free room on the disk.
fn sizes(path: &Path) -> Vec<Sample> {
    let length = |path: &Path| fs::metadata(path).ok().map(|file| file.len());
    let free = statvfs(path).ok().map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    let log = length(&beside(path, "-wal"));
    let log_help = "Size of the write-ahead log beside the database file.";
    let free_help = "Room that is free on the file system of the database file.";
    let sizes = [
        ("petstore_sqlite_database_bytes", "Size of the database file.", length(path)),
        ("petstore_sqlite_wal_bytes", log_help, log),
        ("petstore_sqlite_disk_free_bytes", free_help, free),
    ];
    let known = sizes.into_iter().filter_map(|(name, help, size)| Some((name, help, size?)));
    known.map(|(name, help, size)| Sample::gauge(name, help, size)).collect()
}

fn samples(store: &SqliteStore) -> Vec<Sample> {
    let Activity { commits, writes, write_queue, read_queue } = store.activity();
    let help = "Reads that found no worker and wait for a thread.";
    vec![
        Sample::counter("petstore_sqlite_commits_total", "Transactions committed.", commits),
        Sample::counter("petstore_sqlite_writes_total", "Writes committed.", writes),
        Sample::gauge(
            "petstore_sqlite_write_queue_length",
            "Writes that wait.",
            write_queue as u64,
        ),
        Sample::gauge("petstore_sqlite_read_queue_length", help, read_queue as u64),
    ]
}

#[cfg(test)]
mod tests {
    use std::{fs, iter, sync::Arc};

    use petstore_domain::{PetRepository as _, mocks::new_pet};
    use petstore_sqlite::{SqliteSettings, SqliteStore, beside};
    use rusqlite::Connection;
    use tokio::task::{self, JoinSet};

    use super::{DRIVER, SqliteConfig, Synchronous, parse, samples, sizes};

    #[tokio::test]
    async fn the_samples_show_the_activity_of_a_store_and_the_sizes_of_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("petstore.db");
        let config = SqliteConfig { path: path.clone(), synchronous: Synchronous::Full };
        let store = SqliteStore::open_with(&config, &SqliteSettings::default()).unwrap();
        let store = Arc::new(store);
        let value = |what: &str| {
            let name = format!("petstore_sqlite_{what}");
            samples(&store).into_iter().find(|sample| sample.name == name).unwrap().value
        };
        // A group of queued additions is one commit. On a slow machine, all of them may be refused.
        while value("commits_total").total_cmp(&value("writes_total")).is_eq() {
            let lock = Connection::open(&path).unwrap();
            lock.execute_batch("BEGIN IMMEDIATE").unwrap();
            let add =
                |store: Arc<SqliteStore>| async move { store.add(new_pet("Rex"), None).await };
            let mut additions: JoinSet<_> = iter::repeat_n(store.clone(), 50).map(add).collect();
            // The writer may take all additions as one group. Then only a later addition waits.
            while value("write_queue_length") + value("read_queue_length") < 1.0 {
                task::yield_now().await;
                additions.spawn(add(store.clone()));
            }
            assert!(value("read_queue_length") < 0.5);
            drop(lock);
            additions.join_all().await;
        }
        assert!(value("commits_total") < value("writes_total"));
        let lengths = [path.clone(), beside(&path, "-wal")]
            .map(|path| fs::metadata(path).unwrap().len().to_string());
        assert_ne!(lengths[0], lengths[1]);
        let sizes = sizes(&path).into_iter().map(|it| (it.name, it.value.to_string()));
        let names = ["petstore_sqlite_database_bytes", "petstore_sqlite_wal_bytes"];
        assert!(sizes.take(2).eq(names.into_iter().zip(lengths)));
    }

    #[test]
    fn a_url_contains_a_path_and_a_synchronous_setting_and_is_shown_in_one_form() {
        use Synchronous::{Extra, Full, Normal};
        for (url, path, synchronous, shown) in [
            ("sqlite:petstore.db", "petstore.db", Full, "sqlite:petstore.db"),
            ("sqlite:/var/lib/a.db", "/var/lib/a.db", Full, "sqlite:/var/lib/a.db"),
            ("sqlite:///abs/x", "/abs/x", Full, "sqlite:/abs/x"),
            ("sqlite:////abs//x", "/abs//x", Full, "sqlite:/abs//x"),
            ("sqlite:../a b%20é#1.db", "../a b%20é#1.db", Full, "sqlite:../a b%20é#1.db"),
            ("sqlite:a?synchronous=full", "a", Full, "sqlite:a"),
            ("sqlite:a?synchronous=normal", "a", Normal, "sqlite:a?synchronous=normal"),
            ("sqlite:a?synchronous=extra", "a", Extra, "sqlite:a?synchronous=extra"),
        ] {
            assert_eq!(parse(url), Ok(SqliteConfig { path: path.into(), synchronous }), "{url}");
            let location = (DRIVER.parse)(url).unwrap();
            assert_eq!(location.to_string(), shown);
            for path in [location.first_key_path(), location.restore_path()] {
                assert!(path.unwrap().is_absolute(), "{url}");
            }
        }
        assert!(DRIVER.summary.contains("; PATH?synchronous=normal|full|extra says "));
    }

    #[test]
    fn the_error_for_an_invalid_url_says_what_is_valid() {
        for (urls, refusal) in [
            (&["sqlite:", "sqlite://", "sqlite:?synchronous=full"][..], "no path"),
            (
                &[
                    "sqlite::memory:",
                    "sqlite://:memory:",
                    "sqlite:///:memory:",
                    "sqlite:file::memory:?cache=shared",
                ],
                "memory: alone",
            ),
            (&["sqlite://x", "sqlite://dir/x?synchronous=full"], "a host"),
        ] {
            for url in urls {
                let why = parse(url).unwrap_err();
                assert!(why.contains(refusal), "{url:?}: {why}");
            }
        }
        for parameters in [
            "",
            "mode=ro",
            "synchronous",
            "synchronous=off",
            "synchronous=FULL",
            "synchronous=full&",
            "synchronous=full&synchronous=full",
            "x?synchronous=full",
        ] {
            let why = parse(&format!("sqlite:a?{parameters}")).unwrap_err();
            assert_eq!(
                why, "the only parameter is synchronous=normal|full|extra",
                "{parameters:?}"
            );
        }
    }
}
