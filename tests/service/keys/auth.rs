//! Who may come in: interface, section 5.

use crate::support::{KEY, catalogue::pet, shared, store::Store};

#[test]
fn without_a_credential_nothing_under_v1_answers() {
    let client = shared::server().client();
    for (method, target) in [
        ("GET", "/v1/pets"),
        ("HEAD", "/v1/pets"),
        ("POST", "/v1/pets"),
        ("OPTIONS", "/v1/pets"),
        ("DELETE", "/v1/pets"),
        ("GET", "/v1/pets/1"),
        ("HEAD", "/v1/pets/1"),
        ("OPTIONS", "/v1/pets/1"),
        ("PUT", "/v1/pets/1"),
        ("GET", "/v1/store/orders"),
        ("POST", "/v1/store/orders"),
        ("OPTIONS", "/v1/store/orders"),
        ("GET", "/v1"),
        ("GET", "/v1/"),
        ("GET", "/v1/pets/"),
        ("GET", "/v1/nope"),
        ("OPTIONS", "/v1/nope"),
        ("BREW", "/v1/pets"),
    ] {
        let refusal = client.call(method, target).anonymous().send();
        assert_eq!(refusal.status, 401, "{method} {target}: {refusal:?}");
        assert_eq!(refusal.must("www-authenticate"), "Bearer realm=\"petstore\"");
        let refusal = client.call(method, target).key("not-the-right-key-1").send();
        assert_eq!(refusal.status, 401, "{method} {target}: {refusal:?}");
        let challenge = "Bearer realm=\"petstore\", error=\"invalid_token\"";
        assert_eq!(refusal.must("www-authenticate"), challenge);
    }
}

#[test]
fn what_is_not_a_known_key_is_refused() {
    let foreign = Store::sqlite().new_key("foreign");
    let mistyped = format!("{}x", &foreign[..foreign.len() - 1]);
    let long = "k".repeat(10_000);
    let client = shared::server().client();
    let shouted = KEY.to_uppercase();
    let (shorter, longer) = (&KEY[1..], format!("{KEY}x"));
    for key in [
        &foreign,
        &mistyped,
        &shouted,
        shorter,
        &longer,
        "pst_",
        "x",
        "a=b",
        &long,
        &format!("\"{KEY}\""),
    ] {
        client.get("/v1/pets").key(key).send().refuses(401, "unauthorized");
    }
    for authorization in [
        "",
        "Bearer",
        "Bearer ",
        KEY,
        &format!("Basic {KEY}"),
        &format!("Bearer{KEY}"),
        &format!("Bearer {KEY} x"),
        &format!("Bearer {KEY},{KEY}"),
        &format!("Token {KEY}"),
        &format!("Bearer\t{KEY}x"),
        "Bearer é",
    ] {
        let refusal = client.get("/v1/pets").authorization(authorization).send();
        assert_eq!(refusal.status, 401, "{authorization}: {refusal:?}");
    }
}

#[test]
fn the_name_of_the_scheme_is_case_insensitive() {
    let client = shared::server().client();
    for scheme in ["Bearer", "bearer", "BEARER", "bEaReR"] {
        client.get("/v1/pets").authorization(&format!("{scheme} {KEY}")).send().is(200);
    }
}

#[test]
fn a_key_elsewhere_is_not_looked_at() {
    let client = shared::server().client();
    for name in ["api_key", "access_token", "key", "token"] {
        let target = format!("/v1/pets?{name}={KEY}");
        client.get(&target).anonymous().send().refuses(401, "unauthorized");
        let cookie = format!("{name}={KEY}");
        let call = client.get("/v1/pets").anonymous().header("cookie", cookie);
        call.send().refuses(401, "unauthorized");
        client.get("/v1/pets").anonymous().header("x-api-key", KEY).send().is(401);
    }
    let with_credential = client.get(&format!("/v1/pets?access_token={KEY}")).send();
    with_credential.refuses(400, "invalid_query");
    let body = format!("access_token={KEY}");
    let form = client.post("/v1/pets", body).content_type("application/x-www-form-urlencoded");
    form.anonymous().send().refuses(401, "unauthorized");
}

#[test]
fn a_refused_addition_adds_nothing() {
    let server = shared::server();
    let name = "never added";
    server.client().add(&pet(name)).anonymous().send().is(401);
    server.client().add(&pet(name)).key("wrong-key-wrong-key").send().is(401);
    let all = crate::support::catalogue::everything(&server.client());
    assert!(all.iter().all(|pet| pet["name"] != name));
}
