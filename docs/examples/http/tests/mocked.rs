//! The HTTP interface over mocked ports, without a socket.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use petstore_domain::{
    AddError, ManualClock, MockAuthenticator, MockPetService, PetId, PetPage, StoreError,
    Timestamp, Versioned, mocks::new_pet,
};
use petstore_http::{Ports, Request, Server, Settings};

const KEY: &str = "a-key-of-the-team";

fn server(pets: MockPetService) -> Server {
    let ports = Ports {
        pets: Arc::new(pets),
        authenticator: Arc::new(MockAuthenticator::accepting(KEY)),
        clock: Arc::new(ManualClock::new(Timestamp(1_800_000_000_000))),
    };
    Server::new(ports, Settings::default())
}

fn add(key: &str) -> Request<&'static str> {
    Request::post("/v1/pets")
        .header("host", "test")
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json")
        .body(r#"{"name":"Rex","categoryId":1}"#)
        .unwrap()
}

#[tokio::test]
async fn a_failed_store_is_answered_503_without_the_cause() {
    let mut pets = MockPetService::new();
    pets.expect_add()
        .once()
        .returning(|_, _| Err(AddError::Store(StoreError::unavailable("/secret/path"))));
    let answer = server(pets).handle(add(KEY)).await;
    assert_eq!(answer.status(), 503);
    assert!(!String::from_utf8_lossy(answer.body()).contains("secret"));
}

// A mock that expects nothing fails the test at the first call.
#[tokio::test]
async fn a_wrong_key_is_401_and_the_catalogue_is_not_asked() {
    let answer = server(MockPetService::new()).handle(add("a-key-of-others")).await;
    assert_eq!(answer.status(), 401);
}

// A list also asks for the version of the catalogue, to look into the page cache.
#[tokio::test]
async fn a_page_is_json_and_links_to_the_next_one() {
    let mut pets = MockPetService::new();
    pets.expect_version().return_const(None);
    pets.expect_list().once().returning(|_| {
        let page = PetPage { pets: vec![new_pet("Rex").with_id(PetId(7))], more: true };
        Ok(Versioned { value: page, version: None })
    });
    let list = Request::get("/v1/pets")
        .header("host", "test")
        .header("authorization", format!("Bearer {KEY}"));
    let answer = server(pets).handle(list.body("").unwrap()).await;
    assert_eq!(answer.body(), r#"[{"id":7,"name":"Rex","categoryId":1}]"#);
    assert!(answer.headers()["link"].to_str().unwrap().ends_with("; rel=\"next\""));
}
