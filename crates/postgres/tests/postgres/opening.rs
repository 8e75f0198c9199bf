//! Creating, opening, refusing and closing stores.

use std::{future::poll_fn, task::Poll, time::Duration};

use petstore_domain::{PetRepository, StoreError, Timestamp};
use petstore_postgres::{OpenSettings, PostgresConfig, PostgresStore};
use petstore_testing::{Database, needs};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    task::JoinSet,
    time,
};
use tokio_util::sync::CancellationToken;

use crate::support::{add, all, open, query, refusal};

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn ten_instances_may_start_at_once() {
    let database = Database::create().unwrap();
    let mut starting = JoinSet::new();
    for _ in 0..10 {
        let url = format!("{}?schema=ten", database.url);
        starting.spawn(async move { open(&url).await });
    }
    let stores = starting.join_all().await;
    for store in &stores {
        add(store, "Rex").await;
    }
    assert_eq!(all(&stores[0]).await.len(), 10);
    assert_eq!(database.sql("SELECT version FROM ten.petstore_schema").unwrap().trim(), "7");
}

#[needs(postgres)]
#[tokio::test]
async fn a_schema_with_any_name_is_a_store_of_its_own() {
    let database = Database::create().unwrap();
    let (one, other) =
        (open(&format!("{}?schema=Zoo%22%20x", database.url)).await, open(&database.url).await);
    add(&one, "Rex").await;
    assert_eq!(all(&other).await, []);
    let count = database.sql("SELECT count(*) FROM \"Zoo\"\" x\".pet").unwrap();
    assert_eq!(count.trim(), "1");
}

#[needs(postgres)]
#[tokio::test]
async fn an_unknown_schema_version_is_refused_and_left_alone() {
    let database = Database::create().unwrap();
    drop(open(&database.url).await);
    for (version, expected) in [
        (1, "its schema is version 1, older than any that petstore"),
        (99, "its schema cannot be used below version 99, and petstore"),
    ] {
        database.sql(&format!("UPDATE petstore_schema SET version = {version}")).unwrap();
        let refusal = refusal(&database.url).await;
        assert!(refusal.contains(expected) && !refusal.contains('\n'), "{refusal}");
        assert_eq!(
            database.sql("SELECT version FROM petstore_schema").unwrap().trim(),
            version.to_string()
        );
    }
}

#[needs(postgres)]
#[tokio::test]
async fn tables_of_another_application_are_refused_and_left_alone() {
    let database = Database::create().unwrap();
    database.sql("CREATE TABLE pet (x int)").unwrap();
    let refusal = refusal(&database.url).await;
    assert!(refusal.contains("it holds 'pet' of another program"), "{refusal}");
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(database.sql(tables).unwrap().trim(), "1");
}

/// Without the refusal, a policy would cause empty lists, an empty export and a check without findings.
#[needs(postgres)]
#[tokio::test]
async fn a_store_with_rows_that_a_policy_hides_is_refused() {
    let database = Database::create().unwrap();
    add(&open(&database.url).await, "Rex").await;
    let role = format!("hidden_{}", std::process::id());
    let grants = format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'secret'; \
         GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}; \
         GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {role}"
    );
    database.sql(&grants).unwrap();
    let address = database.url.split_once('@').unwrap().1;
    for parameters in ["", "?pgbouncer=true"] {
        let url = format!("postgres://{role}:secret@{address}{parameters}");
        let store = open(&url).await;
        database.sql("ALTER TABLE pet ENABLE ROW LEVEL SECURITY").unwrap();
        let list = PetRepository::list(&store, query(9, None)).await;
        assert!(matches!(list, Err(StoreError::Refused(_))), "{list:?}");
        let refusal = refusal(&url).await;
        assert!(refusal.contains("hides rows of the table 'pet'"), "{refusal}");
        // The owner sees all rows.
        assert_eq!(all(&open(&database.url).await).await.len(), 1);
        database.sql("ALTER TABLE pet DISABLE ROW LEVEL SECURITY").unwrap();
    }
    database.sql(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).unwrap();
}

#[needs(postgres)]
#[tokio::test]
async fn a_missing_store_is_created_only_on_request() {
    let database = Database::create().unwrap();
    for url in [database.url.clone(), format!("{}?schema=none", database.url)] {
        let config = PostgresConfig::parse(&url).unwrap();
        let refusal =
            PostgresStore::open(&config, OpenSettings::default()).await.map(drop).unwrap_err();
        assert!(refusal.to_string().contains("no petstore store is in it"), "{refusal}");
    }
    drop(open(&database.url).await);
    let config = PostgresConfig::parse(&database.url).unwrap();
    assert!(PostgresStore::open(&config, OpenSettings::default()).await.is_ok());
}

#[needs(postgres)]
#[tokio::test]
async fn a_role_without_the_right_to_create_tables_can_use_them() {
    let database = Database::create().unwrap();
    drop(open(&database.url).await);
    let role = format!("clerk_{}", std::process::id());
    let grants = format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'secret'; \
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}; \
         GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}"
    );
    database.sql(&grants).unwrap();
    let address = database.url.split_once('@').unwrap().1;
    let store = open(&format!("postgres://{role}:secret@{address}")).await;
    add(&store, "Rex").await;
    let made = refusal(&format!("postgres://{role}:secret@{address}?schema=other")).await;
    store.purge_expired(Timestamp(0), 10).await.unwrap();
    database.sql(&format!("REVOKE DELETE ON idempotency FROM {role}")).unwrap();
    let purged = store.purge_expired(Timestamp(0), 10).await.unwrap_err().to_string();
    database.sql(&format!("REVOKE SELECT ON petstore_schema FROM {role}")).unwrap();
    let unread = refusal(&format!("postgres://{role}:secret@{address}")).await;
    drop(store);
    database.sql(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).unwrap();
    assert!(made.contains("grant it CREATE on the database"), "{made}");
    assert!(purged.contains("permission denied for table idempotency"), "{purged}");
    let named = "permission denied for table petstore_schema; grant this role the rights of docs/POSTGRES.md";
    assert!(unread.contains(named), "{unread}");
}

#[needs(postgres)]
#[tokio::test]
async fn the_error_for_a_missing_password_names_it() {
    let asking = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = asking.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut client, _) = asking.accept().await.unwrap();
        assert!(client.read(&mut [0; 512]).await.unwrap() > 0);
        // Asks for a password in clear text.
        client.write_all(b"R\0\0\0\x08\0\0\0\x03").await.unwrap();
    });
    let refused = refusal(&format!("postgres://me@{address}/db?sslmode=disable")).await;
    let expected = "the server asks for a password, and the URL has none); fix the user or";
    assert!(refused.contains(expected), "{refused}");
}

#[needs(postgres)]
#[tokio::test]
async fn errors_of_opening_are_one_line_without_the_password() {
    let database = Database::create().unwrap();
    let address = database.url.split_once('@').unwrap().1;
    let server = address.split_once('/').unwrap().0;
    let key = concat!(env!("CARGO_TARGET_TMPDIR"), "/one_line.pem");
    std::fs::write(key, "-----BEGIN PRIVATE KEY----- aHVzaA==").unwrap();
    let table = [
        (
            format!("postgres://me:hush@{address}?sslmode=require&sslrootcert={key}"),
            "is not well-formed; name a PEM file",
            false,
        ),
        (format!("postgres://me:hush@{server}/nowhere"), "role \"me\" does not exist", false),
        (
            format!("postgres://petstore:hush@{server}/nowhere"),
            "create it with CREATE DATABASE",
            false,
        ),
        (
            "postgres://me:hush@127.0.0.1:1/db".into(),
            "check that a server that takes writes runs there",
            true,
        ),
        (
            format!("postgres://me:hush@{address}?sslmode=require&sslrootcert=/no.pem"),
            "cannot be read",
            false,
        ),
    ];
    for (url, expected, passes) in table {
        let config = PostgresConfig::parse(&url).unwrap();
        let error = PostgresStore::connect(&config).await.map(drop).unwrap_err();
        let error = StoreError::from(error);
        assert_eq!(matches!(error, StoreError::Unavailable(_)), passes, "{error}");
        let line = refusal(&url).await;
        assert!(
            line.contains(expected) && !line.contains('\n') && !line.contains("hush"),
            "{line}"
        );
        assert!(line.starts_with("cannot open the store postgres://"), "{line}");
    }
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_cannot_store_every_name_is_refused() {
    let database = Database::create().unwrap();
    let name = format!("latin_{}", std::process::id());
    database
        .sql(&format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'"))
        .unwrap();
    let server = database.url.rsplit_once('/').unwrap().0;
    let refusal = refusal(&format!("{server}/{name}")).await;
    let open = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname";
    database.sql(&format!("{open} = '{name}'")).unwrap();
    database.sql(&format!("DROP DATABASE {name}")).unwrap();
    assert!(refusal.contains("its encoding is LATIN1"), "{refusal}");
}

#[needs(postgres)]
#[tokio::test]
async fn a_closed_store_has_written_waiting_additions_and_takes_no_more() {
    let database = Database::create().unwrap();
    let on_task_panic = CancellationToken::new();
    let settings = OpenSettings {
        create: true,
        on_task_panic: on_task_panic.clone(),
        ..OpenSettings::default()
    };
    let config = PostgresConfig::parse(&database.url).unwrap();
    let store = PostgresStore::open(&config, settings).await.unwrap();
    let mut waiting = Vec::new();
    for number in 0..50 {
        let pet = crate::support::new_pet(&format!("Rex {number}"));
        let mut addition = PetRepository::add(&store, pet, None);
        assert!(poll_fn(|context| Poll::Ready(addition.as_mut().poll(context).is_pending())).await);
        waiting.push(addition);
    }
    assert!(store.close().await);
    drop(waiting);
    assert_eq!(all(&store).await.len(), 50);
    assert!(PetRepository::add(&store, crate::support::new_pet("late"), None).await.is_err());
    drop(store);
    let panicked = time::timeout(Duration::from_millis(100), on_task_panic.cancelled());
    assert!(panicked.await.is_err());
}
