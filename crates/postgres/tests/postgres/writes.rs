//! Every kind of write waits for the disk and the standby. Of the server's warnings, only one makes a write fail: a
//! commit did not wait for its standby.

use std::{error::Error, sync::Arc};

use petstore_domain::{
    Archive as _, Handover as _, IdempotencyRecord, IdempotencyRequest, KeyId, KeyName,
    KeySelector, PetId, PetRepository, Phase, Rows, StoreId, WriterRole, add_key, revoke_keys,
    roll_key,
};
use petstore_postgres::PostgresStore;
use petstore_testing::{Cluster, Database, Durability, needs};

use crate::{
    failover::cancel_wait,
    support::{NOW, all, new_key, new_pet, open, request},
};

/// A kind of write.
#[derive(Clone, Copy, Debug)]
enum Write {
    Add,
    AddKey,
    RollKey,
    RevokeKey,
    /// Animals without identifiers, as in an import.
    Import,
    /// Two animals with identifiers, as in a copy.
    CopyPets,
    /// One animal with an identifier, as in a copy.
    MergePets,
    CopyKeys,
    CopyRecords,
}

impl Write {
    const ALL: [Self; 9] = [
        Self::Add,
        Self::AddKey,
        Self::RollKey,
        Self::RevokeKey,
        Self::Import,
        Self::CopyPets,
        Self::MergePets,
        Self::CopyKeys,
        Self::CopyRecords,
    ];

    /// Writes. Each call on one database has its own `seed`, for which [`prepare`] was called before.
    async fn run(
        self,
        store: &PostgresStore,
        seed: u8,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        match self {
            Self::Add => drop(PetRepository::add(store, new_pet("Rex"), None).await?),
            Self::AddKey => {
                let key = new_key(seed, &format!("new-{seed}"));
                drop(add_key(store, key).await?);
            }
            Self::RollKey => {
                let key = new_key(seed + 90, &format!("rolled-{seed}"));
                drop(roll_key(store, key, NOW).await?);
            }
            Self::RevokeKey => {
                let name = KeyName::parse(&format!("revoked-{seed}")).unwrap();
                drop(revoke_keys(store, KeySelector::Name(name), NOW).await?);
            }
            Self::Import => {
                store.add_new(vec![new_pet("Rex")], None).await?;
            }
            Self::CopyPets | Self::MergePets => {
                let count = if matches!(self, Self::CopyPets) { 2 } else { 1 };
                let first = i64::from(seed) * 100 + count * 10;
                let ids = first..first + count;
                let pets = ids.map(|id| new_pet("Rex").with_id(PetId(id))).collect();
                store.write_rows(WriterRole::Service, Rows { pets, ..Rows::default() }).await?;
            }
            Self::CopyKeys => {
                let key = new_key(seed + 210, &format!("copied-{seed}"));
                let keys = vec![key.with_id(KeyId(i64::from(seed) * 1000))];
                store.write_rows(WriterRole::Service, Rows { keys, ..Rows::default() }).await?;
            }
            Self::CopyRecords => {
                let IdempotencyRequest { id, fingerprint, at, .. } =
                    request(&format!("k{seed}"), &new_pet("Rex"));
                let record = IdempotencyRecord { id, fingerprint, pet: PetId(1), at };
                let records = vec![record];
                store.write_rows(WriterRole::Service, Rows { records, ..Rows::default() }).await?;
            }
        }
        Ok(())
    }
}

/// Prepares for the writes with these seeds: an animal, and keys to roll and to revoke.
async fn prepare(store: &PostgresStore, seeds: &[u8]) {
    Write::Add.run(store, 0).await.unwrap();
    for seed in seeds {
        for (offset, name) in [(150, "rolled"), (50, "revoked")] {
            let key = new_key(seed + offset, &format!("{name}-{seed}"));
            add_key(store, key).await.unwrap();
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
    let url = |session| format!("{}?call_timeout=30s&{session}", primary.url("postgres"));
    prepare(&open(&url(SESSIONS[0].0)).await, &SESSIONS.map(|(_, seed)| seed)).await;
    // With these settings, the server does not wait, and the role gets no warnings.
    for setting in ["synchronous_commit = off", "client_min_messages = error"] {
        primary.sql(&format!("ALTER ROLE petstore SET {setting}")).unwrap();
    }
    standby.stop().unwrap();
    for (session, seed) in SESSIONS {
        let store = Arc::new(open(&url(session)).await);
        for write in Write::ALL {
            let writing = {
                let store = store.clone();
                tokio::spawn(async move { write.run(&store, seed).await })
            };
            cancel_wait(&primary);
            let refused = writing.await.unwrap().unwrap_err().to_string();
            let expected = "did not wait for its standby";
            assert!(refused.contains(expected), "{write:?} {session}: {refused}");
        }
    }
}

/// Triggers need this setting to tell petstore's writes from other writes.
#[needs(postgres)]
#[tokio::test]
async fn each_write_of_animals_sets_petstore_writer() {
    let database = Database::create().unwrap();
    prepare(&open(&database.url).await, &[1, 2]).await;
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
        for write in Write::ALL {
            write.run(&store, seed).await.unwrap();
        }
    }
    // A mover sets the setting too.
    let store = open(&database.url).await;
    let state = store.state().await.unwrap();
    let filling = state.next(Phase::Filling { from: StoreId([7; 16]) });
    assert!(store.change_state(state.revision, filling.clone()).await.unwrap());
    let pets = vec![new_pet("Rex").with_id(PetId(9000))];
    let rows = Rows { pets, ..Rows::default() };
    assert_eq!(store.write_rows(WriterRole::Mover(filling.revision), rows).await.unwrap(), 1);
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
    let sessions = SESSIONS.map(|(session, seed)| (format!("{}?{session}", database.url), seed));
    prepare(&open(&database.url).await, &[1, 2]).await;
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
    for (url, seed) in sessions {
        let store = open(&url).await;
        let before = all(&store).await.len();
        for write in Write::ALL {
            write.run(&store, seed).await.unwrap();
        }
        let pet = new_pet("Bello");
        PetRepository::add(&store, pet.clone(), Some(request(&url, &pet))).await.unwrap();
        assert_eq!(all(&store).await.len(), before + 6);
    }
}
