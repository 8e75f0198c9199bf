use std::{fmt, process::ExitCode};

use async_trait::async_trait;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::{
    BUILT_IN, BoxError, MEMORY, OpenOptions, OpenStore, Registry, StoreDriver, StoreLocation,
};
use crate::App;

/// A location that opens the stores of a closure.
pub(crate) struct OpensWith<F>(pub(crate) F);

impl<F> fmt::Display for OpensWith<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("test:")
    }
}

#[async_trait]
impl<F: Fn() -> Result<OpenStore, BoxError> + Send + Sync + 'static> StoreLocation
    for OpensWith<F>
{
    async fn open(&self, _: OpenOptions) -> Result<OpenStore, BoxError> {
        (self.0)()
    }
}

fn built_in() -> Registry {
    Registry(BUILT_IN.to_vec())
}

/// Returns a kind of store whose URLs are all refused.
fn named(schemes: &'static [&'static str]) -> StoreDriver {
    let parse = |_: &str| Err("it has no stores".into());
    StoreDriver { schemes, usage: "named:", summary: "a name", is_persistent: true, parse }
}

fn refusal(stores: &Registry, url: &str) -> String {
    stores.parse(url, false).map(drop).unwrap_err().to_string()
}

#[test]
fn a_scheme_belongs_to_one_store() {
    let mut stores = built_in();
    stores.0.push(named(&["named", "other"]));
    stores.check().unwrap();
    assert_eq!(refusal(&stores, "other:x"), "it has no stores");
    for (schemes, known) in [(["x", "postgresql"], "'postgresql:'"), (["x", "x"], "'x:'")] {
        let mut stores = built_in();
        stores.0.push(named(Vec::from(schemes).leak()));
        let refusal = stores.check().unwrap_err().to_string();
        let expected = format!("two stores are registered under the scheme {known}");
        assert!(refusal.starts_with(&expected), "{refusal}");
    }
    let app = App::new().with_store(named(&["etcd"])).with_built_in_stores();
    let app = app.with_store(named(&["named"]));
    assert_eq!(app.run(["petstore", "--version"].map(Into::into)), ExitCode::FAILURE);
}

#[test]
fn no_command_leaves_a_core_dump() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Core);
    setrlimit(Resource::Core, Rlimit { current: maximum, maximum }).unwrap();
    App::new().run(["petstore", "--version"].map(Into::into));
    assert_eq!(getrlimit(Resource::Core).current, Some(0));
}

#[test]
fn the_error_for_an_unknown_scheme_lists_the_registered_schemes() {
    let expected = "a store is sqlite:PATH, postgres://USER:PASSWORD@HOST[,HOST]/DATABASE, \
                    etcd://HOST[,HOST]/PREFIX or memory:";
    for url in ["", "petstore.db", "/var/lib/petstore.db", "SQLITE:a", "mysql://x/db", "sqlite"] {
        assert_eq!(refusal(&built_in(), url), expected, "{url:?}");
    }
}

#[test]
fn the_error_names_a_built_in_store_that_the_program_lacks() {
    let one = Registry(vec![named(&["named"])]);
    assert_eq!(refusal(&one, "mysql:a"), "a store is named:");
    for (url, name) in [
        ("sqlite:a", "SQLite"),
        ("postgres://user:secret@host/db", "PostgreSQL"),
        ("postgresql://host/db", "PostgreSQL"),
        ("etcd://host/prefix", "etcd"),
    ] {
        let expected = format!("this program was built without {name}; a store is named:");
        assert_eq!(refusal(&one, url), expected);
    }
}

#[test]
fn memory_takes_nothing_behind_the_colon() {
    assert_eq!((MEMORY.parse)("memory:").unwrap().to_string(), "memory:");
    for url in ["memory:x", "memory://"] {
        let refusal = (MEMORY.parse)(url).map(drop).unwrap_err().to_string();
        assert_eq!(refusal, "memory: takes nothing behind the colon; use memory: alone");
    }
}
