//! Rows that a constraint of the operator refuses: a unique index on the names of animals.

use std::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    thread,
    time::Duration,
};

use crate::support::{
    answer::Answer,
    catalogue::pet,
    client::Client,
    server::Server,
    store::{Kind, on_stores},
    wait,
};

on_stores!(
    sql:
    a_refused_row_fails_its_own_request_and_the_log_names_the_rule,
    #[petstore_testing::needs(time)]
    others_keep_more_than_half_of_their_throughput,
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
    // In one group with other additions, and alone.
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
    // The log leaves out most of so many lines.
    let names = |line: &str| line.contains("\"cause\":") && line.contains("one_name");
    wait::until("the log names the rule", || server.log().lines().any(names));
    assert_eq!(store.pets(), 61);
    store.try_sql("DROP INDEX one_name").unwrap();
    // A refused request leaves no idempotency record.
    let added = add("taken".to_owned()).is(201);
    assert_eq!(added.header("idempotency-replayed"), None);
}

fn others_keep_more_than_half_of_their_throughput(kind: Kind) {
    const WRITERS: u32 = 8;
    const ROUNDS: u32 = 6;
    let (store, server) = Server::start(kind);
    let client = server.client();
    client.add(&pet("taken")).send().is(201);
    store.try_sql(INDEX).unwrap();
    let next = AtomicU32::new(0);
    let added_within = |offends: bool| {
        let (over, added) = (AtomicBool::new(false), AtomicU32::new(0));
        let until_over = |work: &dyn Fn(&Client)| {
            let client = server.client();
            while !over.load(Ordering::Relaxed) {
                work(&client);
            }
        };
        thread::scope(|scope| {
            for _ in 0..WRITERS {
                scope.spawn(|| {
                    until_over(&|client| {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        client.add(&pet(&format!("Rex {number}"))).send().is(201);
                        added.fetch_add(1, Ordering::Relaxed);
                    });
                });
            }
            if offends {
                scope.spawn(|| {
                    until_over(&|client| drop(is_refused(client.add(&pet("taken")).send())));
                });
            }
            thread::sleep(Duration::from_millis(500));
            over.store(true, Ordering::Relaxed);
        });
        added.into_inner()
    };
    let (mut alone, mut beside) = (0, 0);
    for _ in 0..ROUNDS {
        // On PostgreSQL, the writer remembers a refusal for a second, which would slow the round without the offender.
        thread::sleep(Duration::from_millis(1100));
        alone += added_within(false);
        beside += added_within(true);
    }
    assert!(beside * 2 > alone, "{beside} beside the offender, {alone} without it");
}
