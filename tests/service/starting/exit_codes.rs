//! The exit code of every command when it fails: 2 for wrong usage, 1 for another failure, and 78 for a store that
//! `serve` must not use. `config check` reports every failure as wrong usage.

use std::{collections::BTreeSet, net::TcpListener};

use crate::support::{KEY, command::petstore, server::Launch, store::Store};

/// Every command with arguments that make it fail, and its exit code. `SQLITE` is a store in a missing folder, `STORE`
/// a sound store, and `FILE` a file in the missing folder.
const FAILURES: [(&str, &str, i32); 20] = [
    ("serve", "--listen=127.0.0.1:0 --store=SQLITE", 1),
    ("keys create", "web --store=SQLITE", 1),
    ("keys list", "--store=SQLITE", 1),
    ("keys revoke", "web --store=SQLITE", 1),
    ("keys roll", "web --store=SQLITE", 1),
    ("store copy", "--from=SQLITE --to=STORE", 1),
    ("store verify", "--from=STORE --to=SQLITE", 1),
    ("store move", "--yes --from=SQLITE --to=STORE", 1),
    ("store release", "--force SQLITE", 1),
    ("export", "--store=SQLITE", 1),
    ("import", "FILE --store=STORE", 1),
    ("backup", "--to=FILE --store=STORE", 1),
    ("restore", "FILE --store=SQLITE", 1),
    ("check", "--store=SQLITE", 1),
    ("upgrade", "--store=SQLITE", 1),
    ("config check", "--store=SQLITE", 2),
    ("openapi", "--public-url=nowhere", 2),
    ("healthcheck", "--listen=127.0.0.1:1", 1),
    ("completions", "no-such-shell", 2),
    ("man", "FILE", 1),
];

/// Returns every command at or below `above` that has no subcommands of its own, as the help lists them.
fn commands(above: &str) -> BTreeSet<String> {
    let words: Vec<_> = above.split_whitespace().chain(["--help"]).collect();
    let help = petstore(&words).finish().succeeds();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let named = listed.take_while(|line| !line.is_empty());
    // A long description continues below its command, further to the right.
    let named = named.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let named: Vec<_> = named.filter(|name| !name.is_empty() && *name != "help").collect();
    if named.is_empty() {
        return BTreeSet::from([above.to_owned()]);
    }
    named.into_iter().flat_map(|name| commands(format!("{above} {name}").trim())).collect()
}

#[test]
fn every_command_tells_wrong_usage_from_a_failure_by_its_exit_code() {
    let store = Store::sqlite();
    store.new_key("web");
    let missing = store.folder().join("missing");
    let (file, sqlite) = (missing.join("file"), missing.join("petstore.db"));
    for (command, words, code) in FAILURES {
        let words = words.replace("SQLITE", &format!("sqlite:{}", sqlite.display()));
        let words = words.replace("STORE", &store.url).replace("FILE", file.to_str().unwrap());
        let line: Vec<_> = command.split(' ').chain(words.split(' ')).collect();
        let failed = petstore(&line).env("PETSTORE_API_KEY", KEY).finish();
        assert_eq!(failed.code, Some(code), "{line:?}: {failed:?}");
        assert!(!failed.stderr.is_empty(), "{line:?}");
        let surplus: Vec<_> = command.split(' ').chain(["--no-such-flag"]).collect();
        petstore(&surplus).finish().fails(2, "--no-such-flag");
    }
    let help = petstore(&["keys"]).finish();
    assert_eq!((help.code, &*help.stdout), (Some(2), ""), "{help:?}");
    let tried: BTreeSet<_> = FAILURES.map(|(command, ..)| command.to_owned()).into();
    assert_eq!(commands(""), tried, "every command must be in the table");
}

#[test]
fn a_command_with_lost_output_fails() {
    let store = Store::sqlite();
    let file = store.write("pets.ndjson", r#"{"name":"Rex","categoryId":1}"#);
    let import = ["import", &file, "--create", "--store", &store.url];
    petstore(&import).finish().succeeds();
    let other = Store::sqlite();
    petstore(&["import", "--create", "/dev/null", "--store", &other.url]).finish().succeeds();
    for words in [
        &["store", "copy", "--from", &store.url, "--to", &other.url][..],
        &["store", "verify", "--from", &store.url, "--to", &other.url],
        &["import", "/dev/null", "--store", &store.url],
        &["keys", "list", "--store", &store.url],
        &["export", "--store", &store.url],
        &["check", "--store", &store.url],
        &["openapi"],
        &["completions", "bash"],
    ] {
        let lost = petstore(words).with_full_stdout().finish();
        assert_eq!(lost.code, Some(1), "{words:?}: {lost:?}");
    }
}

#[test]
fn an_address_in_use_is_named_with_its_flag() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for flag in ["--listen", "--metrics-listen"] {
        // `Launch` passes a `--listen` of its own; a second one adds a listener.
        let launch = Launch::on(&Store::memory()).flag(flag, &address);
        let refused = launch.finish().fails(1, &address);
        let says = [&*format!("{flag}: cannot listen on {address}: "), "; name a free address"];
        assert!(says.iter().all(|says| refused.stderr.contains(says)), "{refused:?}");
    }
}
