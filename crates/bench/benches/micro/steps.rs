//! The steps, by name.

use std::{hint::black_box, sync::Arc};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Method, Request};
use petstore_domain::{
    ApiKeySecret, Authenticator as _, CursorPosition, Pet, PetId, PetQuery, PetRepository as _,
    PetStatus,
};
use petstore_http::bench;

use crate::ground::{Ground, SERVICE_KEY, key, now, pet};

/// One step of a request.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) run: Box<dyn FnMut()>,
}

/// A step whose result counts as used.
fn step<T>(name: &'static str, mut run: impl FnMut() -> T + 'static) -> Step {
    Step { name, run: Box::new(move || drop(black_box(run()))) }
}

/// All of them.
pub(crate) fn all(ground: &Ground) -> Vec<Step> {
    [codec(), keys(ground), store(ground), whole(ground)].into_iter().flatten().collect()
}

/// Reading requests and writing answers.
fn codec() -> Vec<Step> {
    let page = |count: i64| -> Vec<Pet> {
        (1..=count).map(|number| pet(number).with_id(PetId(number))).collect()
    };
    let [one, twenty, hundred] = [1, 20, 100].map(page);
    let position = CursorPosition { after: PetId(123_456), status: Some(PetStatus::Sold) };
    let cursor = bench::encode_cursor(position);
    let query = format!("limit=20&status=sold&cursor={cursor}");
    vec![
        step("encode/1 animal", move || bench::encode(black_box(&one))),
        step("encode/20 animals", move || bench::encode(black_box(&twenty))),
        step("encode/100 animals", move || bench::encode(black_box(&hundred))),
        step("cursor/encode", move || bench::encode_cursor(black_box(position))),
        step("cursor/decode", move || bench::decode_cursor(black_box(&cursor))),
        step("query/limit", || bench::parse_query(black_box("limit=20"))),
        step("query/limit, status and cursor", move || bench::parse_query(black_box(&query))),
        step("route/list", || bench::has_operation(&Method::GET, black_box("/v1/pets"))),
        step("route/get", || bench::has_operation(&Method::GET, black_box("/v1/pets/123456"))),
        step("route/none", || bench::has_operation(&Method::GET, black_box("/v1/nothing"))),
    ]
}

/// Whose key is this?
fn keys(ground: &Ground) -> Vec<Step> {
    let check = |name, secret: ApiKeySecret| {
        let key_ring = Arc::clone(&ground.key_ring);
        step(name, move || now(key_ring.authenticate(black_box(&secret))).is_ok())
    };
    vec![
        check("key/of the configuration", ApiKeySecret::new(SERVICE_KEY)),
        check("key/of the store", key(1)),
        check("key/unknown", key(2)),
        check("key/malformed", ApiKeySecret::new("not-a-key-of-petstore")),
    ]
}

/// Queries of SQLite, from the middle of the catalogue.
fn store(ground: &Ground) -> Vec<Step> {
    let find = Arc::clone(&ground.store);
    let list = |name, query: PetQuery| {
        let store = Arc::clone(&ground.store);
        step(name, move || now(store.list(black_box(query))).is_ok())
    };
    let middle = PetQuery { after: Some(PetId(5000)), ..PetQuery::default() };
    let sold = PetQuery { status: Some(PetStatus::Sold), ..middle };
    vec![
        step("sqlite/find", move || now(find.find(black_box(PetId(5000)))).is_ok()),
        list("sqlite/page of 20", middle),
        list("sqlite/page of 20 sold", sold),
    ]
}

/// Whole requests, without a socket.
fn whole(ground: &Ground) -> Vec<Step> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let runtime = Arc::new(runtime);
    let ask = |name, path: &'static str, status: u16, key: &'static str| {
        let (service, runtime) = (Arc::clone(&ground.service), Arc::clone(&runtime));
        step(name, move || {
            let request = Request::get(path).header("authorization", key).header("host", "bench");
            let request: Request<Full<Bytes>> = request.body(Full::default()).unwrap();
            let answer = runtime.block_on(service.answer(black_box(request)));
            assert_eq!(answer, status, "{name}");
        })
    };
    let right = "Bearer the-key-of-the-benchmark";
    vec![
        ask("request/list", "/v1/pets?limit=20", 200, right),
        ask("request/get", "/v1/pets/5000", 200, right),
        ask("request/wrong key", "/v1/pets?limit=20", 401, "Bearer not-a-key-of-petstore"),
    ]
}
