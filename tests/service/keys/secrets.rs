//! No message repeats the password in a store URL, whatever is wrong with the URL and wherever it is given.

use petstore_testing::needs;

use crate::support::{
    command::{Run, petstore},
    server::KEY,
    store::Store,
};

/// Correct URLs of unreachable stores, each with the exit code of `serve`: timeout(1) ends the wait for the store, or
/// the certificate is missing.
const UNREACHABLE: [(&str, i32); 2] = [
    ("postgres://me:hunter2@127.0.0.1:1/x", 124),
    ("postgres://me:hunter2@127.0.0.1:1/x?sslmode=require&sslrootcert=/none", 78),
];

/// Mistyped forms of `postgres://USER:PASSWORD@HOST/DATABASE`. The parsers of the stores test further forms.
const MISTYPED: [&str; 3] = [
    "host=db user=me password=hunter2 dbname=x",
    "postgres://db/x?user=me&password=hunter2",
    "jdbc:postgresql://db/x?user=me&password=hunter2",
];

#[needs(postgres)]
#[test]
fn the_log_warns_of_a_password_on_the_command_line_alone() {
    let store = Store::postgres();
    let url = store.url.replacen('@', ":hunter2@", 1);
    assert_ne!(url, store.url);
    let serve = || petstore(&["serve", "--listen", "127.0.0.1:0"]).env("PETSTORE_API_KEY", KEY);
    for (launch, count) in
        [(serve().flag("--store", &url), 1), (serve().env("PETSTORE_STORE", &url), 0)]
    {
        let log = launch.start().stop();
        let warning = "the process list shows the password in --store to every user";
        assert_eq!(log.matches(warning).count(), count, "{log}");
        assert!(!log.contains("hunter2"), "{log}");
    }
}

#[test]
fn no_message_repeats_the_password_of_a_store() {
    let folder = Store::memory();
    let run = |words: &[&str]| petstore(words);
    let folder_store = format!("sqlite:{}", folder.file().display());
    // An unquoted connection string is several arguments.
    let unquoted: Vec<_> = MISTYPED[0].split(' ').collect();
    let refused = run(&[&["keys", "list", "--store"], &unquoted[..]].concat()).finish();
    assert!(refused.code == Some(2) && !refused.stderr.contains("hunter2"), "{refused:?}");
    let unreachable = UNREACHABLE.map(|(form, code)| (form, Some(code)));
    for (form, served) in MISTYPED.map(|form| (form, None)).into_iter().chain(unreachable) {
        let file = folder.write("url", form);
        let config = folder.write("petstore.toml", &format!("store = \"{form}\""));
        let assigned = format!("--store={form}");
        // The service would wait for an unreachable store.
        let limit = if served == Some(124) { "1" } else { "60" };
        // `config check` does not open the store, so it accepts an unreachable store. The other commands fail.
        let [checked, failed] = [0, 1].map(|code| served.map_or(2, |_| code));
        let by_variable = run(&["config", "check"]).env("PETSTORE_STORE", form);
        // Each command, the source that a refusal of the value names, and the exit code.
        let ways: [(Run, Option<&str>, i32); 18] = [
            (run(&["config", "check", "--store", form]), Some("--store"), checked),
            (run(&["config", "check", &assigned]), Some("--store"), checked),
            (by_variable, Some("PETSTORE_STORE"), checked),
            (run(&["config", "check", "--store-file", &file]), Some(&file), checked),
            (run(&["config", "check", "--config", &config]), Some(&config), checked),
            (
                run(&["serve", "--store", form, "--listen", "127.0.0.1:0"])
                    .behind(["timeout", "-s", "TERM", limit]),
                Some("--store"),
                served.unwrap_or(2),
            ),
            (run(&["keys", "list", "--store", form]), Some("--store"), failed),
            (run(&["store", "verify", "--from", form, "--to", "sqlite:b"]), Some("--from"), failed),
            (run(&["store", "verify", "--from", "sqlite:b", "--to", form]), Some("--to"), failed),
            (run(&["check", "--store", form]), Some("--store"), failed),
            // The URL in a wrong place.
            (run(&["serve", form]), None, 2),
            (run(&[form]), None, 2),
            (run(&["config", "check", "--store-file", form]), None, 2),
            (run(&["config", "check", "--config", &file]), None, 2),
            (run(&["import", form, "--create", "--store", &folder_store]), None, 1),
            (run(&["backup", "--to", form, "--store", &folder_store]), None, 1),
            (run(&["restore", form, "--store", &folder_store]), None, 1),
            (run(&["serve", "--api-key-file", form, "--listen", "127.0.0.1:0"]), None, 1),
        ];
        for (run, source, code) in ways {
            let finished = run.finish();
            let printed = format!("{}{}", finished.stdout, finished.stderr);
            assert!(!printed.contains("hunter2"), "{form}: {printed}");
            assert_eq!(finished.code, Some(code), "{form}: {finished:?}");
            // A refused setting is reported with its source.
            if finished.code == Some(2)
                && let Some(source) = source
            {
                assert!(printed.contains("invalid value '…' for "), "{form}: {printed}");
                assert!(printed.contains(source), "{form}: {printed}");
            }
        }
    }
}
