//! `GET /v1/store/orders`: there by name alone.

use crate::support::shared;

const ORDERS: &str = "/v1/store/orders";

#[test]
fn the_orders_are_not_implemented() {
    let client = shared::server().client();
    client.get(ORDERS).send().refuses(501, "not_implemented");
    client.head(ORDERS).send().is(501);
}
