//! Sources of settings: flags, variables, a file, and files that contain a secret.

use crate::support::{
    catalogue::pet,
    command::{Finished, Run, petstore},
    server::Launch,
    store::Store,
    tls::Pair,
};

fn check(words: &[&str]) -> Finished {
    petstore(&[&["config", "check"], words].concat()).finish()
}

#[test]
fn a_flag_overrides_its_variable_and_a_variable_overrides_the_file() {
    let store = Store::memory();
    let config = store
        .write("petstore.toml", "max-body = 10\nno-docs = true\napi-key-file = \"/nowhere/key\"\n");
    // Returns the statuses of an addition and of `/docs`. The variable with the key takes precedence over `api-key-file`.
    let large = |launch: Launch| {
        let server = launch.start();
        let docs = server.client().get("/docs").anonymous().send().status;
        (server.client().add(&pet("Rex")).send().status, docs)
    };
    let launch = || Launch::on(&store).flag("--config", &config);
    assert_eq!(large(launch()), (413, 404));
    assert_eq!(large(launch().env("PETSTORE_MAX_BODY", "64KiB")), (201, 404));
    let all = launch().env("PETSTORE_MAX_BODY", "64KiB").flag("--max-body", "11");
    assert_eq!(large(all), (413, 404));
    assert_eq!(large(Launch::on(&store).env("PETSTORE_CONFIG", &config)), (413, 404));
}

#[test]
fn an_empty_variable_counts_as_unset() {
    let names = ["STORE", "STORE_FILE", "CONFIG", "API_KEY", "API_KEY_FILE", "LISTEN", "MAX_BODY"];
    let empty =
        |run| names.iter().fold(run, |run: Run, name| run.env(&format!("PETSTORE_{name}"), ""));
    empty(petstore(&["config", "check"])).finish().succeeds();
    let nobody = petstore(&["healthcheck", "--listen=127.0.0.1:1"]);
    nobody.env("TOKIO_WORKER_THREADS", "").finish().fails(1, "is not ready");
    let store = Store::memory();
    let config = store.write("petstore.toml", "store = \"sqlite:/nowhere/from-the-file\"");
    let checked = empty(petstore(&["config", "check", "--config", &config])).finish();
    checked.fails(2, "/nowhere/from-the-file: its directory does not exist");
}

#[test]
fn an_unknown_variable_causes_a_warning_without_its_value() {
    let store = Store::sqlite();
    let create = petstore(&["keys", "create", "web", "--store", &store.url]);
    let made = create.env("PETSTORE_LISTN", "hush").finish();
    let line = "petstore: PETSTORE_LISTN is not a setting";
    assert_eq!(made.stderr.lines().filter(|said| *said == line).count(), 1, "{made:?}");
    assert!(!made.stderr.contains("hush"), "{made:?}");
    let server = Launch::on(&store).env("PETSTORE_LISTN", "hush").start();
    let log = server.stop();
    let warned = "\"message\":\"PETSTORE_LISTN is not a setting\"";
    assert!(log.matches(warned).count() == 1 && !log.contains("hush"), "{log}");
}

#[test]
fn config_check_checks_every_setting_and_does_not_open_the_store() {
    let store = Store::memory();
    let nobody = "postgres://me@127.0.0.1:1/zoo";
    let said = check(&["--store", nobody]).succeeds();
    assert_eq!(said, "the settings are sound: 'petstore serve' accepts them\n");
    let [certificate, key] = Pair::new().write(&store.folder());
    check(&["--tls-cert", &certificate, "--tls-key", &key]).succeeds();
    let swapped = check(&["--tls-cert", &key, "--tls-key", &certificate]);
    swapped.fails(2, "TLS: the two files are swapped: /");
    let files = ["cert", "key"].map(|name| store.write(name, "none"));
    let by_variable = petstore(&["config", "check"]).env("PETSTORE_MAX_BODY", "0");
    by_variable.finish().fails(2, "for PETSTORE_MAX_BODY: ");
    let listens = ["--listen=127.0.0.1:0"; 17];
    check(&listens[..16]).succeeds();
    for (words, says) in [
        (&["--tls-cert", &files[0], "--tls-key", &files[1]][..], "TLS: the certificate in /"),
        (&["--tls-cert", &files[0]], "were not provided: --tls-key <PATH>;"),
        (&["--api-key-file", "/nowhere/key"], "cannot read the API key file /nowhere/key"),
        (&["--config", "/nowhere/petstore.toml"], "cannot read the settings /nowhere"),
        (&listens, "--listen may be given 16 times at most"),
        (&["--listen=127.0.0.1:10,127.0.0.1:10"], "127.0.0.1:10 is given for two listeners"),
        (&["--listen=[::1]:1", "--metrics-listen=[::1]:1"], "[::1]:1 is given for two listeners"),
        (
            &["--store=memory:", "--next-store=sqlite:next.db"],
            "--next-store: a store that ends with the process cannot be handed over",
        ),
        (&["--store=memory:", "--seed=/nowhere/pets"], "/nowhere/pets"),
    ] {
        check(words).fails(2, says);
        let memory: &[&str] =
            if words[0] == "--store=memory:" { &[] } else { &["--store=memory:"] };
        let served = petstore(&[&["serve"], memory, words].concat()).finish();
        // The operator may put the file in order, so the exit code permits a restart by the service manager.
        let is_lost = ["TLS: the certificate", "API key file /nowhere", "/nowhere/pets"];
        let code = if is_lost.iter().any(|lost| says.contains(lost)) { 1 } else { 2 };
        assert_eq!(served.code, Some(code), "{served:?}");
        assert!(served.stderr.contains(says), "{served:?}");
    }
    check(&["--store=sqlite:a.db", "--next-store=sqlite:a.db"])
        .fails(2, "name the same store; name two");
}

#[test]
fn an_invalid_settings_file_is_refused_in_one_line() {
    let store = Store::memory();
    for (text, code, says) in [
        ("header-timeout = \"3 parsecs\"", 2, "for 'header-timeout' in /"),
        ("no-docs = \"perhaps\"", 2, "for 'no-docs' in /"),
        ("max-body = ", 2, "petstore.toml, line 1: "),
        ("store = \"memory:\"\nstore-file = \"x\"", 2, "both --store and --store-file are given"),
        ("max-body = \"64KiB\"\nmax-buffered-bodies = 65535", 2, "must be at least --max-body"),
        ("store-file = \"/nowhere/url\"", 1, "cannot read /nowhere/url: No such file"),
        ("tls-key = \"/key\"", 2, "were not provided: --tls-cert <PATH>;"),
    ] {
        let config = store.write("petstore.toml", text);
        check(&["--config", &config]).fails(2, says);
        petstore(&["serve", "--config", &config]).finish().fails(code, says);
    }
    // Settings that belong together may have different sources.
    let config = store.write("petstore.toml", "tls-cert = \"/cert\"\n");
    check(&["--config", &config, "--tls-key", "/key"]).fails(2, "TLS: cannot read /cert");
}

/// In either form (`store` or `store-file`), a flag overrides a variable, and both override the settings file. Both
/// forms in one place are refused.
#[test]
fn the_url_of_a_store_may_come_from_a_file() {
    let (store, folder) = (Store::sqlite(), Store::memory());
    let file = folder.write("url", &format!("{}\n", store.url));
    let config = folder.write("petstore.toml", &format!("store-file = \"{file}\"\n"));
    let secret = folder.write("secret", "postgres://me:hush@/");
    store.new_key("web");
    let expected = store.keys(&["list"]).succeeds();
    let list = |words: &[&str], variables: &[(&str, &str)]| {
        let run = petstore(&[&["keys", "list"], words].concat());
        variables.iter().fold(run, |run, (name, value)| run.env(name, value)).finish()
    };
    let (wrong, by_file) = (("PETSTORE_STORE", "sqlite:no"), ("PETSTORE_STORE_FILE", &*file));
    for (words, variables) in [
        (&["--store-file", &*file][..], &[][..]),
        (&["--store-file", &file], &[wrong]),
        (&["--store-file", &file], &[("PETSTORE_STORE", "no store")]),
        (&[], &[by_file]),
        (&["--config", &config], &[]),
    ] {
        assert_eq!(list(words, variables).succeeds(), expected, "{words:?} {variables:?}");
    }
    let both = "both --store and --store-file are given; give one of them";
    for (words, variables, code, says) in [
        (&["--store-file", &*file, "--store", &store.url][..], &[][..], 2, both),
        (&[], &[wrong, by_file], 2, "both --store and --store-file are given"),
        (&["--config", &config], &[wrong], 1, "there is no store at"),
        (&["--config", &config, "--store", "sqlite:no"], &[], 1, "there is no store at"),
        (&["--store-file", &secret], &[], 2, "for 'store' in /"),
    ] {
        let refused = list(words, variables).fails(code, says);
        assert!(!refused.stderr.contains("hush"), "{refused:?}");
    }
    // A positional argument precedes the flags of this command.
    petstore(&["export", "-", "--config", &config]).finish().succeeds();
    let copy = Store::sqlite();
    let to = folder.write("to", &copy.url);
    petstore(&["store", "copy", "--from-file", &file, "--to-file", &to]).finish().succeeds();
}
