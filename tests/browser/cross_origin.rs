//! A page of another origin that calls the service (CORS).

use petstore_testing::needs;
use serde_json::{Value, json};

use crate::support::{
    KEY,
    browser::Browser,
    server::{Launch, Server},
    store::Store,
};

/// Sends a request from the page in the browser. Returns the readable part of the answer, or the name of the error.
fn fetch(browser: &Browser, server: &Server, method: &str, target: &str, body: &Value) -> Value {
    let url = format!("{}{target}", server.url());
    let body = if body.is_null() { String::new() } else { format!("body: '{body}',") };
    browser.js(&format!(
        "return fetch('{url}', {{ method: '{method}', {body} headers: {{
             authorization: 'Bearer {KEY}', 'content-type': 'application/json',
             'idempotency-key': String(Math.random()) }} }})
         .then(async answer => ({{
             status: answer.status, tag: answer.headers.get('etag'), body: await answer.json() }}))
         .catch(error => error.name);"
    ))
}

#[needs(chromium)]
#[test]
fn a_page_of_another_origin_lists_and_adds_where_it_may_and_nowhere_else() {
    let browser = Browser::open();
    // `/livez` has no `Content-Security-Policy`, so this page may call other origins.
    let elsewhere = Server::in_memory();
    let page = elsewhere.url();
    browser.go(&format!("{page}/livez"));
    let (closed, open, other) = (Store::memory(), Store::memory(), Store::memory());
    let closed = Launch::on(&closed).start();
    let open = Launch::on(&open).flag("--cors-origin", &page).start();
    let other = Launch::on(&other).flag("--cors-origin", "https://app.example").start();
    let rex = json!({ "name": "Rex", "categoryId": 1 });

    let added = fetch(&browser, &open, "POST", "/v1/pets", &rex);
    assert_eq!((&added["status"], &added["body"]["name"]), (&json!(201), &json!("Rex")));
    // The tests of `crates/http` list every header that the page may read.
    let list = fetch(&browser, &open, "GET", "/v1/pets", &Value::Null);
    assert_eq!((&list["status"], &list["body"][0]["name"]), (&json!(200), &json!("Rex")));
    assert!(list["tag"].as_str().is_some_and(|tag| tag.starts_with("W/\"")), "{list}");
    let refused = fetch(&browser, &open, "GET", "/v1/nothing", &Value::Null);
    assert_eq!(refused["body"]["code"], "route_not_found");

    for server in [&closed, &other] {
        assert_eq!(fetch(&browser, server, "GET", "/v1/pets", &Value::Null), "TypeError");
        assert_eq!(fetch(&browser, server, "POST", "/v1/pets", &rex), "TypeError");
        assert!(server.client().get("/v1/pets").send().json().as_array().unwrap().is_empty());
    }
}
