//! No message repeats the password in a store URL, whatever is wrong with the URL and wherever it is given.

use std::fs;

use crate::support::{
    command::{Run, petstore},
    store::Store,
};

/// Mistyped forms of `postgres://USER:PASSWORD@HOST/DATABASE`, and three correct forms of unreachable stores.
const FORMS: [&str; 29] = [
    "host=db user=me password=hunter2 dbname=x",
    "postgres://db/x?user=me&password=hunter2",
    "postgres://me@db/x?password=hunter2",
    "postgres://me@db/x?sslpassword=hunter2",
    "postgres://me@db/x?hunter2",
    "postgres://me@db/x?pool_size=hunter2",
    "postgres://me@db:hunter2/x",
    "postgres://me:a?b=hunter2@db/x",
    "postgres://me:hunter2%zz@db/x",
    "postgres://me:hunter2@db",
    "jdbc:postgresql://db/x?user=me&password=hunter2",
    "Host=db;Username=me;Password=hunter2;Database=x",
    "db:5432:x:me:hunter2",
    "postgres:me:hunter2@db/x",
    "postgres:/me:hunter2@db/x",
    "postgres//me:hunter2@db/x",
    "me:hunter2@db/x",
    "sqlite://me:hunter2@db/x",
    "sqlite:a?password=hunter2",
    "sqlite:a?synchronous=hunter2",
    "postgres://me:hunter2@127.0.0.1:1/x",
    "postgres://me:hunter2@/x",
    "postgres://me;password=hunter2@127.0.0.1:1/x",
    "postgres://me@127.0.0.1;password=hunter2/x",
    "postgres://me@127.0.0.1:1/x;password=hunter2",
    "postgres://me@127.0.0.1:1/x&password=hunter2",
    "postgres://me@127.0.0.1:1/x:hunter2",
    "postgres://me@127.0.0.1:1/x?schema=s;password=hunter2",
    "postgres://me:hunter2@127.0.0.1:1/x?sslmode=require&sslrootcert=/none",
];

#[test]
fn no_message_repeats_the_password_of_a_store() {
    let folder = Store::memory();
    let path = |name: &str| folder.folder().join(name).to_str().unwrap().to_owned();
    let (file, config) = (path("url"), path("petstore.toml"));
    let run = |words: &[&str]| petstore(words);
    let folder_store = format!("sqlite:{}", path("petstore.db"));
    for form in FORMS {
        fs::write(&file, form).unwrap();
        fs::write(&config, format!("store = \"{form}\"")).unwrap();
        let assigned = format!("--store={form}");
        let ways: [(Run, Option<&str>); 18] = [
            (run(&["config", "show", "--store", form]), Some("--store")),
            (run(&["config", "show", &assigned]), Some("--store")),
            (run(&["config", "show"]).env("PETSTORE_STORE", form), Some("PETSTORE_STORE")),
            (run(&["config", "show", "--store-file", &file]), Some(&file)),
            (run(&["config", "show", "--config", &config]), Some(&config)),
            (
                // The service would wait for an unreachable store.
                run(&["serve", "--store", form, "--listen", "127.0.0.1:0"])
                    .behind(["timeout", "-s", "TERM", "1"]),
                Some("--store"),
            ),
            (run(&["keys", "list", "--store", form]), Some("--store")),
            (run(&["store", "verify", "--from", form, "--to", "sqlite:b"]), Some("--from")),
            (run(&["store", "verify", "--from", "sqlite:b", "--to", form]), Some("--to")),
            (run(&["check", "--store", form]), Some("--store")),
            // The URL in a wrong place.
            (run(&["serve", form]), None),
            (run(&[form]), None),
            (run(&["config", "show", "--store-file", form]), None),
            (run(&["config", "show", "--config", &file]), None),
            (run(&["import", form, "--create", "--store", &folder_store]), None),
            (run(&["backup", "--to", form, "--store", &folder_store]), None),
            (run(&["restore", form, "--store", &folder_store]), None),
            (run(&["serve", "--api-key-file", form, "--listen", "127.0.0.1:0"]), None),
        ];
        for (run, source) in ways {
            let finished = run.finish();
            let printed = format!("{}{}", finished.stdout, finished.stderr);
            assert!(!printed.contains("hunter2"), "{form}: {printed}");
            assert!(matches!(finished.code, Some(0..=2 | 78 | 124)), "{finished:?}");
            // A refused setting is reported with its source.
            if finished.code == Some(2)
                && let Some(source) = source
            {
                assert!(printed.contains("invalid value '…' for "), "{form}: {printed}");
                assert!(printed.contains(source), "{form}: {printed}");
            }
        }
        // An unquoted connection string is several arguments.
        let words: Vec<_> = form.split(' ').collect();
        let several = run(&[&["keys", "list", "--store"], &words[..]].concat()).finish();
        assert!(!several.stderr.contains("hunter2"), "{several:?}");
    }
}
