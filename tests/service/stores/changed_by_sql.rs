//! Animals that an operator changes with SQL while the service runs.

use std::time::Duration;

use crate::support::{
    catalogue::{self, add, id_of, pet_with_status},
    client::Client,
    server::Server,
    store::{Kind, on_stores},
    wait,
};

on_stores!(
    sql:
    a_change_by_sql_shows_in_pages,
    #[petstore_testing::needs(quiet)]
    a_change_by_sql_shows_within_250_ms,
);

/// Requests a filtered page with the entity tag `tag`. Returns status, identifiers and entity tag.
fn page(client: &Client, status: &str, tag: Option<&str>) -> (u16, Vec<i64>, String) {
    let call = client.get(&format!("/v1/pets?status={status}"));
    let call = match tag {
        Some(tag) => call.header("if-none-match", tag),
        None => call,
    };
    let answer = call.send();
    let tag = answer.must("etag").to_owned();
    if answer.status == 304 {
        return (304, Vec::new(), tag);
    }
    (200, catalogue::pets(&answer).iter().map(id_of).collect(), tag)
}

fn a_change_by_sql_shows_in_pages(kind: Kind) {
    shows(kind, wait::LIMIT);
}

fn a_change_by_sql_shows_within_250_ms(kind: Kind) {
    shows(kind, Duration::from_millis(250));
}

fn shows(kind: Kind, limit: Duration) {
    let (store, server) = Server::start(kind);
    let client = server.client();
    let ids = ["one", "two"].map(|name| id_of(&add(&client, &pet_with_status(name, "available"))));
    let (mut last, mut tag) = (ids.to_vec(), page(&client, "available", None).2);
    for (sql, expected) in [
        (format!("UPDATE pet SET status = 'sold' WHERE id = {}", ids[0]), vec![ids[1]]),
        (format!("UPDATE pet SET status = 'available' WHERE id = {}", ids[0]), ids.to_vec()),
        (
            "INSERT INTO pet (id, name, category_id, status) VALUES (77, 'x', 1, 'available')"
                .into(),
            vec![ids[0], ids[1], 77],
        ),
        (format!("DELETE FROM pet WHERE id = {}", ids[1]), vec![ids[0], 77]),
    ] {
        // Until the change, the page stays in the cache and its tag is valid.
        assert_eq!(page(&client, "available", Some(&tag)).0, 304);
        store.try_sql(&sql).unwrap();
        wait::within(limit, &sql, || {
            let (status, found, new) = page(&client, "available", Some(&tag));
            if status == 200 {
                assert_ne!(new, tag, "{sql}: the tag is still that of the animals {last:?}");
                assert_eq!(found, expected, "{sql}");
                (last, tag) = (found, new);
            }
            status == 200
        });
    }
}
