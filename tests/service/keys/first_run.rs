//! The first start on a store without keys, and starts without a live key.

use std::{fs, io::Write as _, os::unix::fs::PermissionsExt as _, process::Command};

use petstore_testing::needs;

use crate::support::{
    command::{self, complete, lines, petstore},
    server::Launch,
    store::Store,
    wait,
};

/// Returns the API keys in a text.
fn keys_in(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("pst_")).map(str::to_owned).collect()
}

/// Asserts that `command` succeeds in a shell and prints an empty list of animals.
#[track_caller]
fn lists(store: &Store, command: &str) {
    let mut shell = Command::new("sh");
    let listed = complete(shell.args(["-c", command]).current_dir(store.folder())).succeeds();
    assert!(listed.contains("[]"), "{command}: {listed}");
}

#[needs(curl)]
#[test]
fn the_first_start_in_the_background_leaves_a_key_beside_the_store() {
    // With a next store, loading the keys waits for a poll.
    let (store, next) = (Store::sqlite(), Store::sqlite());
    let server = Launch::without_key(&store).flag("--next-store", &next.url).start();
    let file = store.folder().join("petstore.db.key");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let key = fs::read_to_string(&file).unwrap().trim_end().to_owned();
    server.client().get("/v1/pets").key(&key).send().is(200);
    let curl = "curl -H \"Authorization: Bearer $(cat petstore.db.key)\"";
    lists(&store, &format!("{curl} {}/v1/pets", server.url()));
    assert!(store.keys(&["list"]).succeeds().contains("default"));
    let said = server.out();
    let log = server.stop();
    let place = file.to_str().unwrap();
    assert_eq!(log.lines().filter(|line| line.contains(place)).count(), 1, "{log}");
    assert!(!log.contains("no API key is live") && !log.contains("cannot be reached"), "{log}");
    assert_eq!(keys_in(&format!("{said}{log}")), [""; 0]);

    let again = Launch::without_key(&store).start();
    again.client().get("/v1/pets").key(&key).send().is(200);
    assert!(!again.stop().contains("API key"));
    assert_eq!(fs::read_to_string(file).unwrap().trim_end(), key);
}

#[test]
fn without_a_live_key_and_a_place_for_the_key_file_the_log_says_what_to_do() {
    let taken = Store::sqlite();
    let file = taken.folder().join("petstore.db.key");
    fs::write(&file, "theirs").unwrap();
    let moved = format!("{} exists and contains no API key; move it away", file.display());
    let revoked = Store::sqlite();
    revoked.new_key("web");
    revoked.keys(&["revoke", "web"]).succeeds();
    for (store, says) in [
        (&Store::memory(), "give one by PETSTORE_API_KEY or --api-key-file"),
        (&taken, &moved),
        (&revoked, "no API key is live: make one with 'petstore keys create NAME "),
    ] {
        let server = Launch::without_key(store).start();
        wait::until("the log says what to do", || server.log().contains(says));
        let said = format!("{}{}", server.out(), server.stop());
        assert_eq!(said.matches("no API key is live").count(), 1, "{said}");
        assert_eq!(keys_in(&said), [""; 0]);
    }
    assert!(!taken.keys(&["list"]).succeeds().contains("default"));
    assert_eq!(fs::read_to_string(file).unwrap(), "theirs");
}

#[needs(curl)]
#[test]
fn on_a_terminal_the_first_key_is_shown_with_a_ready_command() {
    let store = Store::sqlite();
    let listen = format!("127.0.0.1:0,unix:{}/http.sock", store.folder().display());
    let serve = ["serve", "--listen", &listen, "--store", &store.url];
    let mut service = petstore(&serve).env("NO_COLOR", "").on_terminal().spawn();
    let mut lines = lines(service.stdout.take().unwrap());
    let shown: Vec<_> =
        lines.by_ref().take_while(|line| !line.contains("petstore listens on")).collect();
    let curl = shown.iter().find(|line| line.starts_with("curl ")).unwrap();
    lists(&store, curl);
    let pages = shown.iter().find(|line| line.contains("/catalogue")).unwrap();
    assert!(pages.contains("/catalogue has the animals, http://127.0.0.1:"), "{pages}");
    assert!(pages.contains("/docs the reference"), "{pages}");
    assert!(!store.folder().join("petstore.db.key").exists());
    service.stdin.take().unwrap().write_all(b"\x03").unwrap(); // Ctrl-C
    let rest: Vec<_> = lines.collect();
    let again: Vec<_> = rest.iter().filter(|line| line.contains("petstore listens")).collect();
    assert!(again.len() == 1 && again[0].contains(" on unix:/"), "{rest:?}");
    assert!(rest.iter().any(|line| line.contains("\x1b[")), "no line has a color: {rest:?}");
    assert_eq!(command::exit(&mut service), Some(0));

    // A terminal that shows only the log gets no key.
    let other = Store::sqlite();
    let serve = petstore(&["serve", "--listen", "127.0.0.1:0", "--store", &other.url]);
    let serve = serve.behind(["/bin/sh", "-c", "exec \"$@\" >/dev/null", "sh"]);
    let mut service = serve.on_terminal().spawn();
    let mut log = command::lines(service.stdout.take().unwrap());
    assert!(log.any(|line| line.contains("petstore listens")));
    assert!(other.folder().join("petstore.db.key").exists());
    service.stdin.take().unwrap().write_all(b"\x03").unwrap();
    assert_eq!(command::exit(&mut service), Some(0));
}
