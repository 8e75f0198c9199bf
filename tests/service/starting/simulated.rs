//! A service for testing clients: seeded with animals from a file, on a store that is slow or fails.

use serde_json::json;

use crate::support::{
    catalogue::{self, pet, pets},
    command::petstore,
    server::Launch,
    store::Store,
};

const ANIMALS: &str = "{\"id\":3,\"name\":\"Rex\",\"categoryId\":1,\"status\":\"sold\"}\n\
     {\"id\":9,\"name\":\"Tom\",\"categoryId\":2}\n";

fn simulated(how: &str) -> Launch {
    Launch::on(&Store::memory()).flag("--simulate", how)
}

#[test]
fn a_store_in_memory_starts_with_the_animals_of_a_file() {
    let store = Store::memory();
    let ndjson = store.write("pets.ndjson", ANIMALS);
    let csv = store.write("pets.csv", "name,categoryId\nRex,1\n");
    let server = Launch::on(&store).flag("--seed", &ndjson).start();
    let client = server.client();
    let expected: Vec<serde_json::Value> =
        ANIMALS.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(pets(&client.get("/v1/pets").send().is(200)), expected);
    assert_eq!(catalogue::add(&client, &pet("Next"))["id"], 10);
    assert!(server.stop().contains("--seed: added 2 animals"));
    let server = Launch::on(&store).env("PETSTORE_SEED", &csv).start();
    let all = server.client().get("/v1/pets").send().is(200).json();
    assert_eq!(all, json!([{"id": 1, "name": "Rex", "categoryId": 1}]));
}

#[test]
fn an_invalid_seed_or_simulation_is_refused() {
    let store = Store::memory();
    let bad = store.write("bad.ndjson", &format!("{ANIMALS}{{\"name\":\"\"}}\n"));
    let refused = Launch::on(&store).flag("--seed", &bad).finish();
    assert!(refused.code == Some(1) && refused.stderr.contains("line 3: "), "{refused:?}");
    assert!(!refused.stdout.contains("listens"), "{refused:?}");
    let lasting = Store::sqlite();
    for (flag, value, says) in [
        ("--seed", bad.as_str(), "use 'petstore import --create' for this store"),
        ("--simulate", "errors=5%", "--simulate is for --store memory: only"),
    ] {
        Launch::on(&lasting).flag(flag, value).finish().fails(2, says);
        assert!(!lasting.is_made());
        let check = ["config", "check", "--store", &lasting.url, flag, value];
        petstore(&check).finish().fails(2, says);
    }
    simulated("slow").finish().fails(2, "like latency=200ms,errors=5%");
}

#[test]
fn a_failing_store_answers_503() {
    let server = simulated("latency=1ms,errors=100%").start();
    let client = server.client();
    client.add(&pet("Rex")).send().refuses(503, "unavailable");
    client.get("/v1/pets/1").send().refuses(503, "unavailable");
    client.get("/v1/pets").send().refuses(503, "unavailable").must("retry-after");
    client.get("/v1/pets").key("unknown-0123456789").send().refuses(401, "unauthorized");
    client.get("/readyz").anonymous().send().is(503);
    let check = petstore(&["healthcheck", "--listen", &server.address.to_string()]).finish();
    check.fails(1, "is not ready: it answers 'HTTP/1.1 503 Service Unavailable'");
    client.get("/livez").anonymous().send().is(200);
    assert!(server.stop().contains("--simulate makes the store slow or fail"));
}
