//! Every kind of write waits for the disk and the standby. Of the server's warnings, only one makes a write fail: a
//! commit did not wait for its standby.

use std::{error::Error, sync::Arc};

use petstore_domain::{
    Archive as _, Handover as _, KeyId, KeyName, KeySelector, PetId, PetRepository, Phase, Rows,
    StoreId, WriterRole, add_key, revoke_keys, roll_key,
};
use petstore_postgres::PostgresStore;
use petstore_testing::{Cluster, Database, Durability, needs};

use crate::support::{NOW, all, cancel_wait, new_key, new_pet, open, request};

/// The kinds of writes.
const WRITES: [&str; 10] = [
    "add",
    "add a key",
    "roll a key",
    "revoke a key",
    "import",
    "copy an animal",
    "copy two animals",
    "copy a key",
    "copy a record",
    "change the state",
];

/// Makes a write. Each session has its own `seed`, for which [`prepare`] was called before.
async fn write(
    kind: &str,
    store: &PostgresStore,
    seed: u8,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let pet = |id: i64| new_pet("Rex").with_id(PetId(i64::from(seed) * 100 + id));
    let rows = match kind {
        "copy an animal" => Rows { pets: vec![pet(1)], ..Rows::default() },
        "copy two animals" => Rows { pets: vec![pet(2), pet(3)], ..Rows::default() },
        "copy a key" => {
            let key = new_key(seed + 210, &format!("copied-{seed}"));
            Rows { keys: vec![key.with_id(KeyId(i64::from(seed) * 1000))], ..Rows::default() }
        }
        "copy a record" => {
            let record = request(&format!("k{seed}"), &new_pet("Rex")).into_record(PetId(1));
            Rows { records: vec![record], ..Rows::default() }
        }
        _ => Rows::default(),
    };
    match kind {
        "add" => drop(PetRepository::add(store, new_pet("Rex"), None).await?),
        "add a key" => drop(add_key(store, new_key(seed, &format!("new-{seed}"))).await?),
        "roll a key" => {
            drop(roll_key(store, new_key(seed + 90, &format!("rolled-{seed}")), NOW).await?);
        }
        "revoke a key" => {
            let name = KeyName::parse(&format!("revoked-{seed}")).unwrap();
            drop(revoke_keys(store, KeySelector::Name(name), NOW).await?);
        }
        "import" => drop(store.add_new(vec![new_pet("Rex")], None).await?),
        "change the state" => {
            let state = store.state().await?;
            let next = state.next(state.phase.clone());
            assert!(store.change_state(state.revision, next).await?);
        }
        _ => drop(store.write_rows(WriterRole::Service, rows).await?),
    }
    Ok(())
}

/// Adds an animal, and for each session keys to roll and to revoke.
async fn prepare(url: &str) {
    let store = open(url).await;
    write("add", &store, 0).await.unwrap();
    for (_, seed) in SESSIONS {
        for (offset, name) in [(150, "rolled"), (50, "revoked")] {
            let key = new_key(seed + offset, &format!("{name}-{seed}"));
            add_key(&store, key).await.unwrap();
        }
    }
}

/// The parameters for an own session and for a session that a pooler could lend, each with the seed of its writes.
const SESSIONS: [(&str, u8); 2] = [("pgbouncer=false", 1), ("pgbouncer=true", 2)];

/// Sessions of the store wait for the disk even if the server's settings do not require this. The test observes their
/// wait for the standby.
#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn no_write_is_acknowledged_before_the_disk_and_the_standby_have_it() {
    let primary = Cluster::start(Durability::Fast).unwrap();
    let standby = primary.standby().unwrap();
    prepare(&primary.url("postgres")).await;
    // With these settings, the server does not wait, and the role gets no warnings.
    for setting in ["synchronous_commit = off", "client_min_messages = error"] {
        primary.sql(&format!("ALTER ROLE petstore SET {setting}")).unwrap();
    }
    standby.stop().unwrap();
    for (session, seed) in SESSIONS {
        let url = format!("{}?call_timeout=30s&{session}", primary.url("postgres"));
        let store = Arc::new(open(&url).await);
        for kind in WRITES {
            let writer = store.clone();
            let writing = tokio::spawn(async move { write(kind, &writer, seed).await });
            cancel_wait(&primary);
            let refused = writing.await.unwrap().unwrap_err().to_string();
            let expected = "did not wait for its standby";
            assert!(refused.contains(expected), "{kind} {session}: {refused}");
        }
    }
}

/// Triggers need this setting to tell petstore's writes from other writes.
#[needs(postgres)]
#[tokio::test]
async fn each_write_of_animals_sets_petstore_writer() {
    let database = Database::create().unwrap();
    prepare(&database.url).await;
    database
        .sql(
            "CREATE FUNCTION only_service() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
               IF coalesce(current_setting('petstore.writer', true), '') <> 'on' THEN \
               RAISE EXCEPTION 'a stranger'; END IF; RETURN NULL; END $$; \
             CREATE TRIGGER only_service AFTER INSERT OR UPDATE OR DELETE ON pet \
               EXECUTE FUNCTION only_service()",
        )
        .unwrap();
    database.sql("DELETE FROM pet").unwrap_err();
    for (session, seed) in SESSIONS {
        let store = open(&format!("{}?{session}", database.url)).await;
        for kind in WRITES {
            write(kind, &store, seed).await.unwrap();
        }
    }
    // A mover sets the setting too.
    let store = open(&database.url).await;
    let state = store.state().await.unwrap();
    let filling = state.next(Phase::Filling { from: StoreId([7; 16]) });
    assert!(store.change_state(state.revision, filling.clone()).await.unwrap());
    let pets = vec![new_pet("Rex").with_id(PetId(9000))];
    let record = request("k", &new_pet("Rex")).into_record(PetId(-9));
    let rows = Rows { pets, records: vec![record], ..Rows::default() };
    assert_eq!(store.write_rows(WriterRole::Mover(filling.revision), rows).await.unwrap(), 1);
    let first = store.snapshot().await.unwrap().records(None, 1).await.unwrap();
    assert_eq!(first, [record]);
    // While the store is being filled, the database itself refuses every other write.
    let insert = "INSERT INTO pet (name, category_id) VALUES ('Rex', 1)";
    let refusal = database.sql(&format!(
        "SET petstore.writer = 'on'; {insert}; \
         UPDATE petstore_state SET version = decode(md5('x'), 'hex'), changes = changes + 1"
    ));
    assert!(refusal.unwrap_err().contains("is being filled"));
}

/// The server warns on each connection that the system's collations have changed. An operator's trigger warns on each
/// write.
#[needs(postgres)]
#[tokio::test]
async fn warnings_about_anything_but_the_standby_make_no_commit_fail() {
    let database = Database::create().unwrap();
    prepare(&database.url).await;
    database
        .sql(
            "UPDATE pg_database SET datcollversion = '0' WHERE datname = current_database(); \
             CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN RAISE WARNING 'as ever'; RETURN NULL; END $$",
        )
        .unwrap();
    for table in ["pet", "idempotency", "api_key"] {
        let trigger = format!(
            "CREATE TRIGGER warn AFTER INSERT OR UPDATE ON {table} EXECUTE FUNCTION warn()"
        );
        database.sql(&trigger).unwrap();
    }
    for (session, seed) in SESSIONS {
        let store = open(&format!("{}?{session}", database.url)).await;
        let before = all(&store).await.len();
        for kind in WRITES {
            write(kind, &store, seed).await.unwrap();
        }
        let pet = new_pet("Bello");
        PetRepository::add(&store, pet.clone(), Some(request(session, &pet))).await.unwrap();
        assert_eq!(all(&store).await.len(), before + 6);
    }
}
