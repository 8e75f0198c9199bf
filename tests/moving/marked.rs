//! Copy targets are marked until they are complete. A move asks before it begins, names obstacles, and
//! releases a target that it does not fill.

use std::time::{Duration, Instant};

use petstore_testing::needs;

use super::{
    animals::many,
    commands::{copy, import, made, run, verify},
    live::commands::hand_over,
    paused::{end, run_until},
};
use crate::support::{
    catalogue::{self, pet},
    command::petstore,
    server::Launch,
    store::{Kind, Store, on_stores},
    wait,
};

/// The number of animals: more than one batch of any store.
const PETS: usize = 25_000;

fn half_a_copy_is_served_by_nobody(kind: Kind) {
    let count = if kind == Kind::Etcd { 100 * kind.batch() } else { PETS };
    let (from, to) = (made(Kind::Sqlite), made(kind));
    import(&from.url, "ndjson", &many(count)).succeeds();
    let words = ["store", "copy", "--from", &from.url, "--to", &to.url];
    let running = petstore(&words).spawn();
    run_until(&running, "some are there", || to.pets() > 0);
    end(running, "KILL");
    assert!(to.pets() < count, "the copy was too fast to be killed");
    Launch::on(&to).finish().fails(78, "run the same 'petstore store copy'");
    let verify_words = ["store", "verify", "--from", &from.url, "--to", &to.url];
    run(&verify_words).fails(1, "the stores differ: animal ");
    copy(&from.url, &to.url);
    verify(&from.url, &to.url);
    // A complete copy is a store of its own, and a later copy continues it.
    let server = Launch::on(&from).start();
    catalogue::add(&server.client(), &pet("Later"));
    server.stop();
    copy(&from.url, &to.url);
    let server = Launch::on(&to).start();
    catalogue::add(&server.client(), &pet("On the copy"));
    server.stop();
}

on_stores!(lasting: half_a_copy_is_served_by_nobody);

#[test]
fn a_move_asks_before_it_begins() {
    let (from, to) = (made(Kind::Sqlite), Store::sqlite());
    import(&from.url, "ndjson", &many(3)).succeeds();
    let words = ["store", "move", "--from", &from.url, "--to", &to.url];
    run(&words).fails(2, "--yes begins without asking");
    let dry = [&words[..], &["--dry-run"]].concat();
    let said = run(&dry).succeeds();
    assert!(said.contains(" holds 3 animals") && said.contains("does not exist yet"), "{said}");
    assert!(!to.is_made());
    let taken = made(Kind::Sqlite);
    taken.new_key("web");
    run(&["store", "move", "--dry-run", "--from", &from.url, "--to", &taken.url])
        .fails(1, "is not empty; name an empty store");
    let server = Launch::on(&from).start();
    catalogue::add(&server.client(), &pet("Rex"));
}

/// Moves a store beside services with other next stores. Returns the longest time of a refused write.
fn writes_beside_a_move_to_another_store() -> Duration {
    let [from, to, other] = [made(Kind::Sqlite), Store::sqlite(), made(Kind::Sqlite)];
    let absent = Store::sqlite();
    import(&from.url, "ndjson", &many(10)).succeeds();
    let servers =
        [&other, &absent].map(|next| Launch::on(&from).flag("--next-store", &next.url).start());
    hand_over(&from, &to).succeeds();
    let mut longest = Duration::ZERO;
    for server in servers {
        let began = Instant::now();
        server.client().add(&pet("Rex")).send().is(503);
        longest = longest.max(began.elapsed());
        server.client().get("/v1/pets").send().is(503);
        let advice = format!("restart this service with --store {}", to.url);
        wait::until("the log says what to do", || server.log().contains(&advice));
        let log = server.stop();
        assert_eq!(log.matches(&advice).count(), 1, "{log}");
    }
    longest
}

#[test]
fn a_service_with_another_next_store_refuses_writes_and_names_the_new_one() {
    writes_beside_a_move_to_another_store();
}

#[needs(quiet)]
#[test]
fn a_service_with_another_next_store_refuses_writes_soon() {
    let longest = writes_beside_a_move_to_another_store();
    // A service looks for the store that took over for 2 s.
    assert!(longest < Duration::from_secs(3), "{longest:.2?}");
}

#[test]
fn a_way_back_that_is_refused_leaves_its_target_sealed() {
    let (from, to) = (made(Kind::Sqlite), Store::sqlite());
    import(&from.url, "ndjson", &many(10)).succeeds();
    hand_over(&from, &to).succeeds();
    to.damage("UPDATE pet SET status = 'sold' WHERE id = 7");
    hand_over(&to, &from).fails(1, "animal 7");
    let server = Launch::on(&to).start();
    assert_eq!(server.client().get("/v1/pets/7").send().is(200).json()["status"], "sold");
    server.stop();
    Launch::on(&from).finish().fails(78, "was handed over to ");
    // A service with this store first uses the other one.
    let server = Launch::on(&from).flag("--next-store", &to.url).start();
    catalogue::add(&server.client(), &pet("Rex"));
}
