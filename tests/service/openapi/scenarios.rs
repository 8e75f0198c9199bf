//! Scenarios that provoke each documented answer.

use super::stage::{Stage, USED_KEY, repeatable};
use crate::support::{
    KEY,
    answer::Answer,
    catalogue::pet,
    client::{Call, Client},
    raw::head,
    server::Server,
};

/// A way to provoke one answer.
pub(super) struct Scenario {
    pub(super) operation: &'static str,
    pub(super) status: u16,
    /// The documented example that the body equals. `None` for an answer without a body, and for an answer that
    /// matters only for its headers.
    pub(super) example: Option<&'static str>,
    pub(super) play: Box<dyn Fn(&Stage) -> Answer>,
}

fn scenario(
    operation: &'static str,
    status: u16,
    example: impl Into<Option<&'static str>>,
    play: impl Fn(&Stage) -> Answer + 'static,
) -> Scenario {
    Scenario { operation, status, example: example.into(), play: Box::new(play) }
}

/// Each operation with its method and an address.
const OPERATIONS: [(&str, &str, &str); 4] = [
    ("listPets", "GET", "/v1/pets"),
    ("createPet", "POST", "/v1/pets"),
    ("getPet", "GET", "/v1/pets/1"),
    ("listOrders", "GET", "/v1/store/orders"),
];

/// Returns every scenario.
pub(super) fn all() -> Vec<Scenario> {
    let mut all: Vec<_> = OPERATIONS.into_iter().flat_map(of_any).collect();
    all.extend(list());
    all.extend(create());
    all.extend(body_of_create());
    all.extend(get());
    all.push(plain("listOrders", 501, "NotOffered", |client| client.get("/v1/store/orders")));
    all
}

/// Returns the scenarios that every operation has.
fn of_any((id, method, target): (&'static str, &'static str, &'static str)) -> [Scenario; 8] {
    let call = move |client: &Client| client.call(method, target);
    let json = "content-type: application/json\r\n";
    let large = head(method, target, &format!("{json}content-length: 65537\r\n"));
    let coded = head(method, target, &format!("{json}transfer-encoding: gzip, chunked\r\n"));
    let no_host = format!("{method} {target} HTTP/1.1\r\nauthorization: Bearer {KEY}\r\n\r\n");
    let half = format!("{method} {target} HTTP/1.1\r\nhost: petstore\r\n");
    let raw = move |request: String, server: fn(&Stage) -> &Server| {
        move |stage: &Stage| {
            let mut raw = server(stage).raw();
            raw.send(&request);
            raw.answer(method, target)
        }
    };
    [
        scenario(id, 400, "NoHost", raw(no_host, |stage| &stage.calm)),
        scenario(id, 400, "UnknownCoding", raw(coded + "0\r\n\r\n", |stage| &stage.calm)),
        scenario(id, 401, "NoKey", move |stage| call(&stage.client()).anonymous().send()),
        scenario(id, 401, "BadKey", move |stage| call(&stage.client()).key("unknown").send()),
        scenario(id, 408, "LateHead", raw(half, |stage| &stage.hasty)),
        scenario(id, 413, "TooLarge", raw(large, |stage| &stage.calm)),
        scenario(id, 429, "TooFast", move |stage| stage.too_fast(call)),
        scenario(id, 503, "NotNow", move |stage| stage.unreadable.answer(call)),
    ]
}

/// Returns a scenario with a request to the calm server. The answers over HTTP/1.1 and HTTP/2 must be equal.
fn plain(
    operation: &'static str,
    status: u16,
    example: impl Into<Option<&'static str>>,
    call: fn(&Client) -> Call,
) -> Scenario {
    scenario(operation, status, example, move |stage| {
        let [answer, other] = [stage.calm.client(), stage.calm.http2()].map(|c| call(&c).send());
        assert_eq!(answer.lasting_headers(), other.lasting_headers());
        assert_eq!((answer.status, &answer.body), (other.status, &other.body));
        answer
    })
}

fn list() -> [Scenario; 8] {
    let list = |status, example, call| plain("listPets", status, example, call);
    [
        list(200, Some("page"), |client| client.get("/v1/pets")),
        list(200, Some("nothing"), |client| client.get("/v1/pets?status=pending")),
        list(200, None, |client| client.get("/v1/pets?limit=1")),
        list(304, None, |client| client.get("/v1/pets").header("if-none-match", "*")),
        list(400, Some("BadLimit"), |client| client.get("/v1/pets?limit=0")),
        list(400, Some("UnknownParameter"), |client| client.get("/v1/pets?color=red")),
        list(400, Some("BadCursor"), |client| client.get("/v1/pets?cursor=abc")),
        scenario("listPets", 500, "Failed", |stage| stage.corrupt.answer(|c| c.get("/v1/pets"))),
    ]
}

fn create() -> [Scenario; 10] {
    let add = |client: &Client| client.add(&pet("Max"));
    let create = |status, example, call| plain("createPet", status, example, call);
    [
        scenario("createPet", 201, "with-status", |stage| stage.added[0].clone()),
        scenario("createPet", 201, "without-status", |stage| stage.added[1].clone()),
        scenario("createPet", 201, None, |stage| {
            let again = stage.client().add(&stage.document.at(REX)["value"]);
            again.header("idempotency-key", format!("{USED_KEY}-with-status")).send()
        }),
        scenario("createPet", 201, None, move |stage| add(&stage.late.client()).send()),
        scenario("createPet", 403, "ReadOnlyKey", move |stage| stage.reading(add)),
        create(400, "NoParameters", |client| client.post("/v1/pets?color=red", "{}")),
        create(400, "BadIdempotencyKey", |client| {
            client.add(&pet("Max")).header("idempotency-key", "a b")
        }),
        create(422, "KeyReused", |client| {
            client.add(&pet("Max")).header("idempotency-key", format!("{USED_KEY}-with-status"))
        }),
        // A unique index of the operator refuses the animal.
        scenario("createPet", 500, "Failed", |stage| stage.corrupt.answer(|c| repeatable(c, "3"))),
        create(415, "NotJson", |client| client.add(&pet("Max")).content_type("text/plain")),
    ]
}

const REX: &str = "/paths/~1pets/post/requestBody/content/application~1json/examples/with-status";

fn body_of_create() -> [Scenario; 8] {
    let post = |status, example, call| plain("createPet", status, example, call);
    let broken = |server: fn(&Stage) -> &Server, more: &'static str| {
        let json = "content-type: application/json\r\ntransfer-encoding: chunked\r\n";
        let request = head("POST", "/v1/pets", json) + more;
        move |stage: &Stage| {
            let mut raw = server(stage).raw();
            raw.send(&request);
            raw.answer("POST", "/v1/pets")
        }
    };
    [
        post(400, "BadJson", |client| client.post("/v1/pets", r#"{"name":"#)),
        post(400, "EmptyBody", |client| client.post("/v1/pets", "")),
        post(400, "BadPet", |client| client.post("/v1/pets", r#"{"name": " ", "status": "lost"}"#)),
        post(400, "PetWithId", |client| {
            client.post("/v1/pets", r#"{"id": 1, "name": "Rex", "categoryId": 1}"#)
        }),
        scenario("createPet", 400, "BrokenBody", broken(|stage| &stage.calm, "no length\r\n")),
        scenario("createPet", 408, "LateBody", broken(|stage| &stage.hasty, "5\r\n{")),
        post(415, "NoMediaType", |client| client.add(&pet("Max")).without("content-type")),
        post(415, "EncodedBody", |client| {
            client.add(&pet("Max")).header("content-encoding", "gzip")
        }),
    ]
}

fn get() -> [Scenario; 7] {
    let get = |status, example, call| plain("getPet", status, example, call);
    [
        get(200, Some("with-status"), |client| client.get("/v1/pets/1")),
        get(200, Some("without-status"), |client| client.get("/v1/pets/2")),
        get(304, None, |client| client.get("/v1/pets/1").header("if-none-match", "*")),
        get(400, Some("NoParameters"), |client| client.get("/v1/pets/1?color=red")),
        get(404, Some("NoSuchPet"), |client| client.get("/v1/pets/0")),
        scenario("getPet", 500, "Failed", |stage| stage.corrupt.answer(|c| c.get("/v1/pets/1"))),
        scenario("getPet", 410, "Removed", |stage| stage.late.client().get("/v1/pets/1").send()),
    ]
}
