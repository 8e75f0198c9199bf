//! Copy targets are marked until they are complete. A move asks before it begins and names obstacles. A refused move
//! leaves its target as it was.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use petstore_testing::needs;

use super::{
    animals::many,
    commands::{import, made, make, run, verify},
    live::commands::hand_over,
    paused::end,
    restore::backup,
};
use crate::support::{
    catalogue::{self, pet},
    command::petstore,
    server::Launch,
    store::{Kind, Store, on_stores},
    wait,
};

/// No service uses a store with an incomplete copy until another run of the command completes the copy.
fn half_a_copy_is_served_by_nobody(kind: Kind) {
    // More than one batch of any store.
    let count = if kind == Kind::Etcd { 60 * kind.batch() } else { 25_000 };
    let from = made(Kind::Sqlite);
    import(&from.url, "ndjson", &many(count)).succeeds();
    let backup = backup(&from);
    let file = backup.file();
    let copy = &["store", "copy", "--from", &from.url, "--to"][..];
    let restore = &["restore", file.to_str().unwrap(), "--store"][..];
    for (filling, signal, says) in [
        (copy, "KILL", "run the same 'petstore store copy'"),
        (copy, "TERM", "run the same 'petstore store copy'"),
        (restore, "KILL", "is being filled from another store"),
    ] {
        // A restore to a SQLite file makes the whole file or none, so there is no incomplete store.
        if kind == Kind::Sqlite && filling == restore {
            continue;
        }
        // A command may complete the copy before its end.
        let ended = (0..10).map(|_| made(kind)).find_map(|to| {
            let running = petstore(&[filling, &[&*to.url]].concat()).spawn();
            wait::until("the target has some animals", || to.pets() > 0);
            let ended = end(running, signal);
            (ended.code != Some(0) && to.pets() < count).then_some((to, ended))
        });
        let (to, ended) = ended.expect("ten commands were faster than their signals");
        if signal == "TERM" {
            let says = "petstore: stopped; run the same command again to continue\n";
            assert!(ended.code == Some(1) && ended.stderr.ends_with(says), "{ended:?}");
        }
        // A slow machine logs more before the line that says why.
        let refused = Launch::on(&to).finish();
        assert!(refused.code == Some(78) && refused.stderr.contains(says), "{refused:?}");
        let differ = ["store", "verify", "--from", &from.url, "--to", &to.url];
        run(&differ).fails(1, "the stores differ: animal ");
        run(&[filling, &[&*to.url]].concat()).succeeds();
        verify(&from.url, &to.url);
        Launch::on(&to).start().stop();
    }
}

on_stores!(lasting: half_a_copy_is_served_by_nobody);

#[test]
fn a_move_asks_before_it_begins_and_a_preview_counts_the_rows_of_both_stores() {
    let (from, to) = (made(Kind::Sqlite), Store::sqlite());
    import(&from.url, "ndjson", &many(3)).succeeds();
    let words = ["store", "move", "--from", &from.url, "--to", &to.url];
    run(&words).fails(2, "--yes begins without asking");
    // `script` gives the command a terminal.
    let asks = |answer: &str| {
        let asked = [&[env!("CARGO_BIN_EXE_petstore")], &words[..]].concat().join(" ");
        let piped = format!("{answer} | script -qec '{asked}' /dev/null");
        let output = Command::new("sh").args(["-c", &piped]).output().unwrap();
        let question = format!("Hand {} over to {}? [y/N]", from.url, to.url);
        assert!(String::from_utf8_lossy(&output.stdout).contains(&question), "{output:?}");
        (output.status.code(), to.is_made())
    };
    assert_eq!(["true", "echo", "echo no"].map(&asks), [(Some(1), false); 3]);
    let dry = [&words[..], &["--dry-run"]].concat();
    let said = run(&dry).succeeds();
    let (old, new, rest) = (&from.url, &to.url, "0 API keys and 1 idempotency records");
    let expected = format!("{old} holds 3 animals, {rest}; {new} does not exist yet, and will be");
    assert!(said.starts_with(&expected), "{said}");
    assert!(!to.is_made());
    let taken = made(Kind::Sqlite);
    taken.new_key("web");
    run(&["store", "move", "--dry-run", "--from", &from.url, "--to", &taken.url])
        .fails(1, "is not empty; name an empty store");
    let server = Launch::on(&from).start();
    catalogue::add(&server.client(), &pet("Rex"));
    server.stop();
    make(&to);
    let said = run(&dry).succeeds();
    let none = "0 animals, 0 API keys and 0 idempotency records";
    assert_eq!(said, format!("{old} holds 4 animals, {rest}; {new} holds {none}\n"));
    assert_eq!(asks("echo y").0, Some(0));
    let said = run(&dry).succeeds();
    assert!(said.contains("; it was handed over before; "), "{said}");
}

#[needs(quiet)]
#[test]
fn a_service_with_another_next_store_refuses_writes_soon_and_names_the_new_one() {
    let [from, to, other] = [made(Kind::Sqlite), Store::sqlite(), made(Kind::Sqlite)];
    let absent = Store::sqlite();
    import(&from.url, "ndjson", &many(10)).succeeds();
    let servers =
        [&other, &absent].map(|next| Launch::on(&from).flag("--next-store", &next.url).start());
    hand_over(&from, &to).succeeds();
    for server in servers {
        let began = Instant::now();
        server.client().add(&pet("Rex")).send().is(503);
        // After the seal, a service waits for the new store for at most 2 s.
        assert!(began.elapsed() < Duration::from_secs(3), "{:.2?}", began.elapsed());
        server.client().get("/v1/pets").send().is(503);
        let advice = format!("restart this service with --store {}", to.url);
        wait::until("the log says what to do", || server.log().contains(&advice));
        let log = server.stop();
        assert_eq!(log.matches(&advice).count(), 1, "{log}");
    }
}
