//! Rows that the database refuses for good.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use petstore_domain::{
    AddError, Archive as _, ArchiveError, KeySelector, KeyStore as _, PetId, PetRepository, Rows,
    StoreError, WriterRole, add_key, revoke_keys,
};
use petstore_postgres::PostgresStore;
use petstore_testing::{Database, needs};
use tokio::{task::JoinSet, time};

use crate::support::{NOW, add, all, new_key, new_pet, open, request};

/// Returns SQL for a trigger that refuses a row with the name `lion`.
fn trigger(table: &str, when: &str, state: &str) -> String {
    format!(
        "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN RAISE EXCEPTION 'no lions here' USING ERRCODE = '{state}'; END $$; \
             DROP TRIGGER IF EXISTS refuse ON {table}; \
             CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON {table} {when} \
             FOR EACH ROW WHEN (NEW.name = 'lion') EXECUTE FUNCTION refuse()"
    )
}

/// Rules that an operator attaches to the table of animals, one at a time.
fn rules() -> Vec<String> {
    let mut rules = vec![
        "ALTER TABLE pet ADD CONSTRAINT no_lions CHECK (name <> 'lion')".to_owned(),
        "ALTER TABLE pet DROP CONSTRAINT no_lions; CREATE UNIQUE INDEX one ON pet (name) \
         WHERE name = 'lion'; INSERT INTO pet (name, category_id) VALUES ('lion', 1)"
            .to_owned(),
        format!("DROP INDEX one; {}", trigger("pet", "", "ZZ001")),
    ];
    // SQLSTATEs that the server itself uses for temporary failures, or for failures that end a connection.
    for state in ["08006", "0A000", "25006", "40001", "42P01", "53100", "55000", "57P03", "XX000"] {
        rules.push(trigger("pet", "", state));
    }
    // Triggers that run at the commit.
    for state in ["ZZ001", "08006", "40001", "55000"] {
        rules.push(trigger("pet", "DEFERRABLE INITIALLY DEFERRED", state));
    }
    // A trigger that keeps the row out of the table without an error.
    rules.push(
        "DROP TRIGGER refuse ON pet; CREATE FUNCTION keep_out() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN RETURN NULL; END $$; CREATE TRIGGER refuse BEFORE INSERT ON pet \
         FOR EACH ROW WHEN (NEW.name = 'lion') EXECUTE FUNCTION keep_out()"
            .to_owned(),
    );
    rules
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_the_database_refuses_fails_alone_as_refused() {
    let database = Database::create().unwrap();
    let store = Arc::new(open(&database.url).await);
    for (round, refuse) in rules().into_iter().enumerate() {
        database.sql(&refuse).unwrap();
        let before = all(&store).await.len();
        let mut adding = JoinSet::new();
        for index in 0..20_u8 {
            let store = store.clone();
            let pet = new_pet(if index % 10 == 3 { "lion" } else { "Rex" });
            let request = (index % 3 == 0).then(|| request(&format!("{round}-{index}"), &pet));
            adding.spawn(async move { (index, PetRepository::add(&*store, pet, request).await) });
        }
        for (index, added) in adding.join_all().await {
            if index % 10 == 3 {
                let refused = matches!(added, Err(AddError::Store(StoreError::Refused(_))));
                assert!(refused, "{refuse}: {added:?}");
            } else {
                added.unwrap();
            }
        }
        assert_eq!(all(&store).await.len(), before + 18);
    }
    let imported = store.add_new(vec![new_pet("Rex"), new_pet("lion")], None).await;
    let refused = matches!(imported, Err(ArchiveError::Store(StoreError::Refused(_))));
    assert!(refused, "{imported:?}");
    let pets = vec![new_pet("lion").with_id(PetId(77_000))];
    let copied =
        store.write_rows(WriterRole::Service, Rows { pets, ..Rows::default() }).await.unwrap_err();
    assert!(matches!(copied, ArchiveError::OtherPet(PetId(77_000))), "{copied:?}");
    let records = "SELECT count(*) FROM idempotency WHERE pet_id NOT IN (SELECT id FROM pet)";
    assert_eq!(database.sql(records).unwrap().trim(), "0");
    let web = add_key(&*store, new_key(1, "web")).await.unwrap();
    let at_commit = trigger("api_key", "DEFERRABLE INITIALLY DEFERRED", "ZZ001");
    database.sql(&at_commit.replace("lion", "web").replace("INSERT", "UPDATE")).unwrap();
    for parameters in ["", "?pgbouncer=true"] {
        let store = open(&format!("{}{parameters}", database.url)).await;
        let used = store.note_uses(vec![(web.id, NOW)]).await;
        let revoked = revoke_keys(&store, KeySelector::Id(web.id), NOW).await.map(drop);
        for refused in [used, revoked] {
            assert!(matches!(refused, Err(StoreError::Refused(_))), "{parameters}: {refused:?}");
        }
    }
    add(&store, "Rex").await;
}

/// Returns how many animals 63 writers add in a second, and how many additions of one more writer are refused. That
/// writer adds animals with the name `offender`.
async fn throughput(store: &Arc<PostgresStore>, offender: &str) -> (usize, usize) {
    let counts = Arc::new([const { AtomicUsize::new(0) }; 2]);
    let mut writers = JoinSet::new();
    for writer in 0..64 {
        let (store, counts) = (store.clone(), counts.clone());
        let name = if writer == 0 { offender } else { "Rex" }.to_owned();
        writers.spawn(async move {
            loop {
                match PetRepository::add(&*store, new_pet(&name), None).await {
                    Ok(_) if writer == 0 => {}
                    Ok(_) => drop(counts[0].fetch_add(1, Ordering::Relaxed)),
                    Err(AddError::Store(StoreError::Refused(reason))) => {
                        assert!(writer == 0 && reason.contains("no_lions"), "{reason}");
                        counts[1].fetch_add(1, Ordering::Relaxed);
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        });
    }
    time::sleep(Duration::from_secs(1)).await;
    writers.abort_all();
    while let Some(ended) = writers.join_next().await {
        assert!(ended.unwrap_err().is_cancelled());
    }
    (counts[0].load(Ordering::Relaxed), counts[1].load(Ordering::Relaxed))
}

#[needs(postgres, quiet)]
#[tokio::test(flavor = "multi_thread")]
async fn a_client_with_refused_rows_leaves_the_others_more_than_half_of_their_throughput() {
    let database = Database::create().unwrap();
    let store = Arc::new(open(&database.url).await);
    database.sql("CREATE UNIQUE INDEX no_lions ON pet (name) WHERE name = 'lion'").unwrap();
    database.sql("INSERT INTO pet (name, category_id) VALUES ('lion', 1)").unwrap();
    let mut percents = Vec::new();
    for _ in 0..3 {
        let (without, _) = throughput(&store, "Rex").await;
        let (beside, refused) = throughput(&store, "lion").await;
        assert!(refused > 0);
        percents.push(beside * 100 / without);
    }
    percents.sort_unstable();
    assert!(percents[1] > 50, "refusals leave too few percent of the throughput: {percents:?}");
}
