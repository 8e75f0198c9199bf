//! The end of getPet, rehearsed and postponed.

use serde_json::json;

use crate::{
    service::requests::get::says_that_it_is_deprecated,
    support::{
        catalogue::{add, id_of, pet, pets},
        server::Launch,
        store::Store,
    },
};

#[test]
fn after_the_end_the_operation_is_gone_and_the_rest_goes_on() {
    let store = Store::memory();
    let server = Launch::on(&store).flag("--get-pet-sunset", "now").start();
    let client = server.client();

    let answer = client.add(&pet("last")).send().is(201);
    assert_eq!(answer.header("location"), None);
    let id = id_of(&answer.json());
    for target in [format!("/v1/pets/{id}"), "/v1/pets/0".into(), "/v1/pets/abc".into()] {
        let gone = client.get(&target).send().refuses(410, "operation_removed");
        says_that_it_is_deprecated(&gone, None);
        says_that_it_is_deprecated(&client.head(&target).send().is(410), None);
        // A credential is still needed to learn so, and nothing else is judged after it.
        says_that_it_is_deprecated(&client.get(&target).anonymous().send().is(401), None);
        client.get(&format!("{target}?x=1")).send().refuses(410, "operation_removed");
        client.get(&target).header("if-none-match", "*").send().refuses(410, "operation_removed");
        client.options(&target).send().is(204);
        client.call("DELETE", &target).send().refuses(405, "method_not_allowed");
    }
    assert_eq!(pets(&client.get("/v1/pets").send().is(200)), [answer.json()]);
}

#[test]
fn a_replay_after_the_end_has_no_location_either() {
    let store = Store::sqlite();
    let before = Launch::on(&store).start();
    let add = |client: crate::support::client::Client| {
        client.add(&json!({"name": "Rex", "categoryId": 1})).header("idempotency-key", "k").send()
    };
    let first = add(before.client()).is(201);
    assert!(first.header("location").is_some());
    before.stop();

    let after = Launch::on(&store).flag("--get-pet-sunset", "now").start();
    let replay = add(after.client()).is(201);
    assert_eq!(replay.must("idempotency-replayed"), "true");
    assert_eq!(replay.header("location"), None);
    assert_eq!(replay.json(), first.json());
}

#[test]
fn an_end_that_is_still_to_come_or_postponed_changes_nothing() {
    for (choice, date) in [("date", Some("Thu, 05 Dec 2030 00:00:00 GMT")), ("off", None)] {
        let store = Store::memory();
        let server = Launch::on(&store).flag("--get-pet-sunset", choice).start();
        let client = server.client();
        let id = id_of(&add(&client, &pet("still")));
        let found = client.get(&format!("/v1/pets/{id}")).send().is(200);
        says_that_it_is_deprecated(&found, date);
        assert!(client.add(&pet("still")).send().is(201).header("location").is_some());
    }
}

#[test]
fn the_log_says_at_the_start_when_it_ends_if_that_is_soon() {
    let store = Store::memory();
    let log = Launch::on(&store).flag("--get-pet-sunset", "date").start().stop();
    assert!(!log.contains("getPet"), "it ends years from now: {log}");
    for (when, words) in [("off", "its end is postponed"), ("now", "getPet has ended")] {
        let store = Store::memory();
        let log = Launch::on(&store).flag("--get-pet-sunset", when).start().stop();
        let lines: Vec<_> = log.lines().filter(|line| line.contains("getPet")).collect();
        assert!(lines.len() == 1 && lines[0].contains(words), "{when}: {log}");
    }
}
