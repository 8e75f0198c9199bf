use std::{
    fmt, fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use petstore_memory::MemoryStore;

use crate::{App, BoxError, OpenOptions, OpenStore, StoreDriver, StoreLocation};

static OPENED: AtomicUsize = AtomicUsize::new(0);
static CLOSED: AtomicUsize = AtomicUsize::new(0);

/// An empty store under a URL. Counts how often it is opened and closed.
struct Counted(String);

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[async_trait]
impl StoreLocation for Counted {
    async fn open(&self, _: OpenOptions) -> Result<OpenStore, BoxError> {
        OPENED.fetch_add(1, Ordering::SeqCst);
        let store = Arc::new(MemoryStore::new());
        let opened = OpenStore::new(store.clone()).with_archive(store.clone()).with_handover(store);
        Ok(opened.with_close(async {
            CLOSED.fetch_add(1, Ordering::SeqCst);
        }))
    }
}

#[test]
fn each_command_closes_every_store_that_it_opens() {
    let parse = |url: &str| Ok(Arc::new(Counted(url.to_owned())) as Arc<dyn StoreLocation>);
    let (usage, summary) = ("counted:NAME", "a store that counts");
    let counted = StoreDriver { schemes: &["counted"], usage, summary, is_persistent: true, parse };
    let folder = tempfile::tempdir().unwrap();
    let [to, from] = ["to.csv", "from.ndjson"].map(|name| folder.path().join(name));
    fs::write(&from, r#"{"name":"Rex","categoryId":1}"#).unwrap();
    let [to, from] = [&to, &from].map(|path| path.to_str().unwrap());
    let stores = ["--from", "counted:a", "--to", "counted:b"];
    for (words, count) in [
        (vec!["backup", "--to", to, "--store", "counted:a"], 1),
        (vec!["check", "--store", "counted:a"], 1),
        (vec!["export", to, "--store", "counted:a"], 1),
        (vec!["import", from, "--store", "counted:a"], 1),
        (vec!["keys", "list", "--store", "counted:a"], 1),
        ([&["store", "copy"], &stores[..]].concat(), 2),
        ([&["store", "verify"], &stores[..]].concat(), 2),
        ([&["store", "move", "--dry-run"], &stores[..]].concat(), 2),
        (vec!["store", "release", "--force", "counted:a"], 1),
    ] {
        let [opened, closed] = [&OPENED, &CLOSED].map(|counter| counter.load(Ordering::SeqCst));
        let args = [&["petstore"], &words[..]].concat();
        let _ = App::new().with_store(counted).run(args.into_iter().map(Into::into));
        assert_eq!(OPENED.load(Ordering::SeqCst) - opened, count, "{words:?}");
        assert_eq!(CLOSED.load(Ordering::SeqCst) - closed, count, "{words:?}");
    }
}
