//! Rows that a constraint of the operator refuses: a unique index on the names of animals.

use std::thread;

use crate::support::{
    answer::Answer,
    catalogue::pet,
    server::Server,
    store::{Kind, on_stores},
    wait,
};

on_stores!(
    sql:
    a_refused_row_fails_its_own_request_and_the_log_names_the_rule,
);

const INDEX: &str = "CREATE UNIQUE INDEX one_name ON pet (lower(name))";

#[track_caller]
fn is_refused(answer: Answer) -> Answer {
    assert_eq!(answer.header("retry-after"), None);
    answer.refuses(500, "internal")
}

fn a_refused_row_fails_its_own_request_and_the_log_names_the_rule(kind: Kind) {
    let (store, server) = Server::start(kind);
    let client = server.client();
    client.add(&pet("Taken")).send().is(201);
    store.try_sql(INDEX).unwrap();
    let add = |name: String| client.add(&pet(&name)).header("idempotency-key", &name).send();
    // The store may write these refused rows in one transaction with other additions, and writes the last one alone.
    thread::scope(|scope| {
        for writer in 0..8 {
            let add = &add;
            scope.spawn(move || {
                for number in 0..10 {
                    if writer % 4 == 0 {
                        is_refused(add("taken".to_owned()));
                    } else {
                        add(format!("{writer}-{number}")).is(201);
                    }
                }
            });
        }
    });
    is_refused(client.add(&pet("TAKEN")).send());
    // The rule would refuse the row of a retry too, but a retry needs no row.
    let again = add("1-0".to_owned()).is(201);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    let reused = client.add(&pet("taken")).header("idempotency-key", "1-0").send();
    reused.refuses(422, "idempotency_key_reused");
    // The log leaves out most lines about a cause that repeats often.
    let names = |line: &str| line.contains("\"cause\":") && line.contains("one_name");
    wait::until("the log names the rule", || server.log().lines().any(names));
    assert_eq!(store.pets(), 61);
    store.try_sql("DROP INDEX one_name").unwrap();
    // A refused request leaves no idempotency record.
    let added = add("taken".to_owned()).is(201);
    assert_eq!(added.header("idempotency-replayed"), None);
}
