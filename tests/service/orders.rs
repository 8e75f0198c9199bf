//! `GET /v1/store/orders`: there by name alone.

use crate::support::shared;

const ORDERS: &str = "/v1/store/orders";

#[test]
fn the_orders_are_not_implemented() {
    let client = shared::server().client();
    client.get(ORDERS).send().refuses(501, "not_implemented");
    client.head(ORDERS).send().is(501);
}

#[test]
fn the_orders_need_a_credential_all_the_same() {
    let client = shared::server().client();
    client.get(ORDERS).anonymous().send().refuses(401, "unauthorized");
    client.get(ORDERS).key("some-other-key-0123").send().refuses(401, "unauthorized");
    client.post(ORDERS, "{}").anonymous().send().refuses(401, "unauthorized");
}

#[test]
fn the_orders_can_only_be_read() {
    let client = shared::server().client();
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        let refusal = client.call(method, ORDERS).send().refuses(405, "method_not_allowed");
        assert_eq!(refusal.allow(), client.options(ORDERS).send().is(204).allow());
    }
}
