//! Each command closes the stores that it opens.

use std::{
    ffi::OsString,
    fmt, fs,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use example_adapter::FILE_STORES;
use petstore::{App, BoxError, OpenOptions, OpenStore, StoreDriver, StoreLocation};

use crate::support::STARTING;

static OPENED: AtomicUsize = AtomicUsize::new(0);
static CLOSED: AtomicUsize = AtomicUsize::new(0);

/// A file store that counts how often it is opened and closed.
struct Counted(Arc<dyn StoreLocation>);

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[async_trait]
impl StoreLocation for Counted {
    async fn open(&self, options: OpenOptions) -> Result<OpenStore, BoxError> {
        let opened = self.0.open(options).await?;
        OPENED.fetch_add(1, Ordering::SeqCst);
        Ok(opened.with_close(async {
            CLOSED.fetch_add(1, Ordering::SeqCst);
        }))
    }
}

const COUNTED: StoreDriver =
    StoreDriver { parse: |url| Ok(Arc::new(Counted((FILE_STORES.parse)(url)?))), ..FILE_STORES };

#[test]
fn each_command_closes_every_store_that_it_opens() {
    // This process opens the stores itself, so no other test may start a process meanwhile.
    let _alone = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [from, list, backup] = ["from.ndjson", "list.csv", "backup"].map(path);
    let [one, other] = ["one", "other"].map(|name| format!("file:{}", path(name)));
    fs::write(&from, r#"{"name":"Rex","categoryId":1}"#).unwrap();
    let both = ["--from", &one, "--to", &other];
    for (words, count) in [
        (&["import", "--create", &from, "--store", &one][..], 1),
        (&["keys", "list", "--store", &one], 1),
        (&["check", "--store", &one], 1),
        (&["export", &list, "--store", &one], 1),
        (&["backup", "--to", &backup, "--store", &one], 1),
        (&[&["store", "move", "--dry-run"], &both[..]].concat(), 1),
        (&[&["store", "copy"], &both[..]].concat(), 2),
        (&[&["store", "verify"], &both[..]].concat(), 2),
        (&[&["store", "move", "--dry-run"], &both[..]].concat(), 2),
        (&["store", "release", "--force", &one], 1),
    ] {
        let [opened, closed] = [&OPENED, &CLOSED].map(|counter| counter.load(Ordering::SeqCst));
        let args = ["petstore"].iter().chain(words).map(OsString::from);
        let _ = App::new().with_store(COUNTED).run(args);
        assert_eq!(OPENED.load(Ordering::SeqCst) - opened, count, "{words:?}");
        assert_eq!(CLOSED.load(Ordering::SeqCst) - closed, count, "{words:?}");
    }
}
