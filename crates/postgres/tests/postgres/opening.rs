//! Creating, opening, refusing and closing stores.

use std::{
    collections::HashSet,
    process,
    task::{Context, Waker},
};

use petstore_domain::{Archive as _, HighestIds, PetId, PetRepository, StoreError};
use petstore_postgres::{OpenSettings, PostgresConfig, PostgresStore};
use petstore_storage::{Severity, UpgradeMode};
use petstore_testing::{Database, needs};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use tokio_postgres::NoTls;

use crate::support::{Role, add, all, new_pet, open, query, refusal};

#[needs(postgres)]
#[tokio::test]
async fn a_missing_store_is_created_only_on_request_in_the_schema_of_the_url() {
    let database = Database::create().unwrap();
    database.sql("CREATE SCHEMA made").unwrap();
    let schemas = ["", "?schema=Zoo%22%20x", "?schema=made"];
    let urls = schemas.map(|parameter| format!("{}{parameter}", database.url));
    for url in &urls {
        let config = PostgresConfig::parse(url).unwrap();
        let found = async || PostgresStore::open(&config, OpenSettings::default()).await.map(drop);
        let refusal = found().await.unwrap_err().to_string();
        assert!(refusal.contains("no petstore store is in it"), "{refusal}");
        let (store, other) = tokio::join!(open(url), open(url));
        assert_ne!(store.was_created(), other.was_created());
        assert_eq!(all(&store).await, []);
        add(&store, "Rex").await;
        found().await.unwrap();
    }
    // Each store has its own identity, sequence and indexes.
    let broken = "SET search_path = public; DROP INDEX pet_available, pet_pending, pet_sold, \
          idempotency_by_age, idempotency_by_pet, api_key_by_name; \
        ALTER TABLE pet DROP CONSTRAINT pet_pkey; \
        ALTER TABLE idempotency DROP CONSTRAINT idempotency_pkey; \
        ALTER TABLE api_key DROP CONSTRAINT api_key_pkey, DROP CONSTRAINT api_key_digest_key; \
        UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'made.pet_sold'::regclass";
    database.sql(broken).unwrap();
    let broken = |names| format!("missing or invalid: {names}; REINDEX them, or create them again");
    let all = "api_key_by_name, api_key_digest_key, api_key_pkey, idempotency_by_age, idempotency_by_pet, \
        idempotency_pkey, pet_available, pet_pending, pet_pkey, pet_sold";
    let indexes = [broken(all), "all exist and are valid".to_owned(), broken("pet_sold")];
    let other = Database::create().unwrap();
    let identity = async |url: &str| PostgresConfig::parse(url).unwrap().identity().await.unwrap();
    drop(open(&other.url).await);
    let mut identities = HashSet::from([identity(&other.url).await]);
    for (url, indexes) in urls.iter().zip(indexes) {
        assert!(identities.insert(identity(url).await), "{url}");
        let store = open(url).await;
        let highest = store.snapshot().await.unwrap().highest_ids().await.unwrap();
        assert_eq!(highest, HighestIds { pet: Some(PetId(1)), key: None }, "{url}");
        let findings = store.inspect().await.unwrap();
        let found = |subject| findings.iter().find(|finding| finding.subject == subject).unwrap();
        assert_eq!(found("indexes").detail, indexes, "{url}");
        let is_error = found("indexes").severity == Severity::Error;
        assert_eq!(is_error, indexes.starts_with("missing"), "{url}");
        assert!(store.database_bytes().await.unwrap() > 1_000_000, "{url}");
        // The settings of the test server.
        let durability = "fsync is off, full_page_writes is off, synchronous_commit is on: a power";
        assert!(found("durability").detail.starts_with(durability), "{findings:?}");
    }
    let count = database.sql("SELECT count(*) FROM \"Zoo\"\" x\".pet").unwrap();
    assert_eq!(count.trim(), "1");
}

/// Without the refusal, a policy would cause empty lists, an empty export and a check without findings.
#[needs(postgres)]
#[tokio::test]
async fn a_store_with_rows_that_a_policy_hides_is_refused() {
    let database = Database::create().unwrap();
    let owner = open(&database.url).await;
    add(&owner, "Rex").await;
    let role = Role::new(&database);
    for parameters in ["", "?pgbouncer=true"] {
        let url = format!("{}{parameters}", role.url());
        let store = open(&url).await;
        database.sql("ALTER TABLE pet ENABLE ROW LEVEL SECURITY").unwrap();
        let list = store.list(query(9, None)).await;
        assert!(matches!(list, Err(StoreError::Refused(_))), "{list:?}");
        let refusal = refusal(&url).await;
        assert!(refusal.contains("hides rows of the table 'pet'"), "{refusal}");
        assert_eq!(all(&owner).await.len(), 1);
        database.sql("ALTER TABLE pet DISABLE ROW LEVEL SECURITY").unwrap();
    }
}

#[needs(postgres)]
#[tokio::test]
async fn the_error_for_a_missing_right_names_the_right() {
    let database = Database::create().unwrap();
    drop(open(&database.url).await);
    let role = Role::new(&database);
    add(&open(&role.url()).await, "Rex").await;
    let made = refusal(&format!("{}?schema=other", role.url())).await;
    assert!(made.contains("grant it CREATE on the database"), "{made}");
    database
        .sql(&format!("CREATE SCHEMA other; GRANT USAGE ON SCHEMA other TO {}", role.name))
        .unwrap();
    let made = refusal(&format!("{}?schema=other", role.url())).await;
    assert!(made.contains("grant this role CREATE on the schema, or name another with"), "{made}");
    let nowhere = refusal(&format!("{}?options=-c%20search_path%3Dnowhere", role.url())).await;
    assert!(
        nowhere.contains("there is no schema that this role may use: GRANT USAGE"),
        "{nowhere}"
    );
    for table in ["petstore_state", "petstore_schema"] {
        database.sql(&format!("REVOKE SELECT ON {table} FROM {}", role.name)).unwrap();
        let unread = refusal(&role.url()).await;
        let named =
            format!("denied for table {table}; grant this role the rights of docs/POSTGRES.md");
        assert!(unread.contains(&named), "{unread}");
    }
}

#[needs(postgres)]
#[tokio::test]
async fn a_role_without_the_right_to_change_tables_can_use_an_upgraded_store() {
    let database = Database::create().unwrap();
    database.sql(include_str!("../../../../tests/upgrades/1.0.0/postgres.sql")).unwrap();
    let role = Role::new(&database);
    let theirs = PostgresConfig::parse(&role.url()).unwrap();
    let refusal = PostgresStore::upgrade(&theirs, UpgradeMode::Run).await.unwrap_err().to_string();
    let owner = "only the owner of its tables can upgrade it: 'petstore upgrade --store";
    assert!(refusal.contains(owner) && !refusal.contains("secret"), "{refusal}");
    let config = PostgresConfig::parse(&database.url).unwrap();
    // A session of another role, such as a monitor, does not prevent an upgrade.
    let (monitor, wire) = tokio_postgres::connect(&role.url(), NoTls).await.unwrap();
    tokio::spawn(wire);
    PostgresStore::upgrade(&config, UpgradeMode::Run).await.unwrap();
    let old = "SELECT version FROM catalogue WHERE only_row = 1";
    let refusal = monitor.query(old, &[]).await.unwrap_err().as_db_error().unwrap().to_string();
    assert!(refusal.contains("was upgraded for petstore 2.0.0"), "{refusal}");
    let nothing = PostgresStore::upgrade(&theirs, UpgradeMode::Run).await.unwrap().unwrap();
    assert_eq!(nothing.steps, []);
    add(&open(&role.url()).await, "Rex").await;
}

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
    let place = database.url.split_once('@').unwrap().1;
    let nowhere = format!("{}/nowhere", place.split_once('/').unwrap().0);
    for (rest, expected, passes) in [
        (format!("me:hush@{place}?sslmode=require&sslrootcert=/no.pem"), "be read", false),
        (format!("me:hush@{nowhere}"), "role \"me\" does not exist", false),
        (format!("petstore:hush@{nowhere}"), "create it with CREATE DATABASE", false),
        ("me:hush@127.0.0.1:1/db".into(), "check that a server that takes writes runs there", true),
    ] {
        let config = PostgresConfig::parse(&format!("postgres://{rest}")).unwrap();
        let error = PostgresStore::connect(&config).await.map(drop).unwrap_err();
        let line = error.to_string();
        assert!(line.starts_with("cannot open the store postgres://"), "{line}");
        assert!(line.contains(expected), "{line}");
        assert!(!line.contains('\n') && !line.contains("hush"), "{line}");
        assert_eq!(matches!(error.into(), StoreError::Unavailable(_)), passes, "{line}");
    }
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_cannot_store_every_name_is_refused() {
    let database = Database::create().unwrap();
    let name = format!("latin_{}", process::id());
    let latin = "TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'";
    database.sql(&format!("CREATE DATABASE {name} {latin}")).unwrap();
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
    let store = open(&database.url).await;
    let add = || PetRepository::add(&store, new_pet("Rex"), None);
    let mut waiting: Vec<_> = (0..50).map(|_| add()).collect();
    for addition in &mut waiting {
        let mut context = Context::from_waker(Waker::noop());
        assert!(addition.as_mut().poll(&mut context).is_pending());
    }
    assert!(store.close().await);
    drop(waiting);
    assert_eq!(all(&store).await.len(), 50);
    assert!(add().await.is_err());
}
