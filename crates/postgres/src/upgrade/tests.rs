//! Upgrades of stores of every older version, also beside processes that use the store.

use std::time::Duration;

use petstore_domain::load_keys;
use petstore_storage::{Step, Upgrade, UpgradeMode};
use petstore_testing::{Database, needs};
use tokio::{task::JoinSet, time};

use super::upgrade;
use crate::{
    config::PostgresConfig,
    connection::READ_COMMITTED,
    connector::{Connector, Purpose},
    schema::{self, STEPS, VERSION},
    store::PostgresStore,
};

/// A step after which older releases cannot use the store.
const ALONE: Step = Step {
    version: VERSION + 1,
    summary: "a test",
    sql: "ALTER TABLE petstore_state RENAME TO store",
    oldest: VERSION + 1,
    oldest_release: "9.9.9",
    offending: None,
};

fn with(step: Step) -> Vec<Step> {
    [&STEPS[..], &[step]].concat()
}

fn config(database: &Database) -> PostgresConfig {
    PostgresConfig::parse(&database.url).unwrap()
}

/// Returns a store of the first version with one animal.
async fn old() -> Database {
    petstore_testing::limit_time();
    let database = Database::create().unwrap();
    let connector = Connector::new(&config(&database)).unwrap();
    let connection = connector.connect(Purpose::Archive).await.unwrap();
    connection.begin(READ_COMMITTED).await.unwrap();
    schema::apply(&STEPS[0], &connection).await.unwrap();
    connection.commit().await.unwrap();
    database.sql("INSERT INTO pet (name, category_id) VALUES ('Rex', 1)").unwrap();
    database
}

async fn run(database: &Database, mode: UpgradeMode, steps: &[Step]) -> Result<Upgrade, String> {
    match upgrade(&config(database), mode, steps).await {
        Ok(upgrade) => Ok(upgrade.unwrap()),
        Err(reason) => Err(reason.to_string()),
    }
}

/// Returns the record of the schema: its versions and the oldest release.
fn record(database: &Database) -> String {
    let sql = "SELECT to_jsonb(s) FROM petstore_schema s";
    database.sql(sql).unwrap().trim().to_owned()
}

fn rows(database: &Database) -> String {
    database.sql("SELECT string_agg(pet::text, E'\\n' ORDER BY id) FROM pet").unwrap()
}

/// Describes every table, column, constraint, index, trigger and function of the store.
fn description(database: &Database) -> String {
    let sql = "SELECT string_agg(line, E'\\n' ORDER BY line) FROM ( \
        SELECT format('%s.%s %s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), \
          a.attnotnull, pg_get_expr(d.adbin, d.adrelid)) AS line \
          FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid \
          LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum \
          WHERE c.relnamespace = 'public'::regnamespace AND a.attnum > 0 \
        UNION ALL SELECT conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint \
          WHERE connamespace = 'public'::regnamespace \
        UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' \
        UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal \
        UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc \
          WHERE pronamespace = 'public'::regnamespace) AS lines";
    database.sql(sql).unwrap()
}

#[needs(postgres)]
#[tokio::test]
async fn an_upgraded_store_of_each_release_has_the_schema_of_a_new_store() {
    let new = Database::create().unwrap();
    drop(PostgresStore::connect(&config(&new)).await.unwrap());
    for release in ["1.0.0", "1.1.0", "1.2.0"] {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/upgrades");
        let dump = std::fs::read_to_string(format!("{folder}/{release}/postgres.sql")).unwrap();
        let old = Database::create().unwrap();
        old.sql(&dump).unwrap();
        let before = (rows(&old), record(&old));
        let plan = run(&old, UpgradeMode::DryRun, &STEPS).await.unwrap();
        let refusal = PostgresStore::connect(&config(&old)).await.map(drop).unwrap_err();
        let expected = format!("its schema is version {}, and", plan.from);
        assert!(refusal.to_string().contains(&expected), "{release}: {refusal}");
        assert_eq!((rows(&old), record(&old)), before, "{release}");

        assert_eq!(run(&old, UpgradeMode::Run, &STEPS).await.unwrap(), plan, "{release}");
        let versions: Vec<_> = plan.steps.iter().map(|step| step.version).collect();
        assert_eq!(versions, (plan.from + 1..=VERSION).collect::<Vec<_>>(), "{release}");
        assert_eq!(description(&old), description(&new), "{release}");
        assert_eq!((rows(&old), record(&old)), (before.0, record(&new)), "{release}");
        // A store of a newer compatible release is used too.
        let compatible = Step { oldest: VERSION, sql: "CREATE TABLE more (x int)", ..ALONE };
        run(&old, UpgradeMode::Run, &with(compatible)).await.unwrap();
        let store = PostgresStore::connect(&config(&old)).await.unwrap();
        assert!(!load_keys(&store).await.unwrap().keys.is_empty(), "{release}");
        let again = run(&old, UpgradeMode::Run, &STEPS).await.unwrap();
        let nothing = Upgrade { from: VERSION + 1, steps: Vec::new(), saved_to: None };
        assert_eq!(again, nothing, "{release}");
    }
}

#[needs(postgres)]
#[tokio::test]
async fn rows_that_break_a_new_rule_are_named_and_nothing_is_changed() {
    let old = old().await;
    let bad = [
        "''",
        "'   '",
        "chr(7) || 'b'",
        "'c' || chr(133)",
        "chr(127)",
        "chr(160) || chr(12288) || chr(8195)",
        "repeat('x', 256)",
    ];
    let insert = |name: &str| format!("INSERT INTO pet (name, category_id) VALUES ({name}, 1)");
    for name in ["' x '", "repeat('ß', 255)", "chr(160) || 'a'", "chr(128021)"]
        .iter()
        .chain(&bad)
        .chain(&bad)
    {
        old.sql(&insert(name)).unwrap();
    }
    for mode in [UpgradeMode::DryRun, UpgradeMode::Run, UpgradeMode::Force] {
        let refusal = run(&old, mode, &STEPS).await.unwrap_err();
        let first = "schema version 5 refuses animal 6 (its name is empty, too long, white space, or \
             has control characters), animal 7 (";
        assert!(refusal.starts_with(first), "{refusal}");
        // The error names ten rows at most.
        for id in 1..=19 {
            let is_named = refusal.contains(&format!("animal {id} ("));
            assert_eq!(is_named, (6..=15).contains(&id), "{id}: {refusal}");
        }
        assert_eq!(record(&old), "{\"version\": 2}");
    }
    old.sql("DELETE FROM pet WHERE id > 5; CREATE TABLE petstore_relocation ()").unwrap();
    let refusal = run(&old, UpgradeMode::Run, &STEPS).await.unwrap_err();
    assert!(refusal.contains("finish that with that release"), "{refusal}");
    old.sql("DROP TABLE petstore_relocation").unwrap();
    run(&old, UpgradeMode::Run, &STEPS).await.unwrap();
    // From now on such names cannot be written.
    for name in bad {
        assert!(old.sql(&insert(name)).is_err(), "{name}");
    }
}

#[needs(postgres)]
#[tokio::test]
async fn an_incompatible_step_is_refused_while_other_processes_are_connected() {
    let old = old().await;
    let other = Connector::new(&config(&old)).unwrap().connect(Purpose::Calls).await.unwrap();
    for mode in [UpgradeMode::DryRun, UpgradeMode::Run] {
        let refusal = run(&old, mode, &with(ALONE)).await.unwrap_err();
        assert!(refusal.contains("and other sessions of this role are connected"), "{refusal}");
        assert_eq!(record(&old), "{\"version\": 2}");
    }
    let hidden = PostgresConfig::parse(&format!("{}?pgbouncer=true", old.url)).unwrap();
    let refusal = upgrade(&hidden, UpgradeMode::Run, &with(ALONE)).await.unwrap_err().to_string();
    assert!(refusal.contains("the pooler hides whether one is connected"), "{refusal}");
    run(&old, UpgradeMode::Force, &with(ALONE)).await.unwrap();
    drop(other);

    let refusal = PostgresStore::connect(&config(&old)).await.map(drop).unwrap_err().to_string();
    let expected = format!(
        "its schema cannot be used below version {}, and petstore {} knows version {VERSION}; it was \
         left untouched: use petstore 9.9.9 or newer, or the copy or backup",
        VERSION + 1,
        env!("CARGO_PKG_VERSION")
    );
    assert!(refusal.contains(&expected), "{refusal}");
}

/// Statements of petstore 1.2.0, one of each kind.
const STATEMENTS_OF_1_2_0: [&str; 10] = [
    "SELECT c.version, c.changes FROM catalogue c WHERE c.only_row = 1",
    "SELECT c.version, c.changes, p.id, p.name, p.category_id, p.status \
       FROM catalogue c LEFT JOIN pet p ON p.id = 1 WHERE c.only_row = 1",
    "SELECT FROM catalogue WHERE only_row = 1 FOR NO KEY UPDATE",
    "UPDATE catalogue SET version = '', changes = changes + 1 WHERE only_row = 1 RETURNING version, changes",
    "WITH new AS MATERIALIZED (SELECT nextval('pet_id') AS id FROM catalogue c WHERE c.only_row = 1), \
       inserted AS (INSERT INTO pet (id, name, category_id) SELECT id, 'Rex', 1 FROM new) SELECT FROM new",
    "DELETE FROM idempotency WHERE id IN (SELECT i.id \
       FROM (SELECT FROM catalogue WHERE only_row = 1 FOR SHARE) c, idempotency i)",
    "SELECT id, key_revision, highest_key_id FROM catalogue c LEFT JOIN api_key ON true WHERE c.only_row = 1",
    "SELECT c.key_revision FROM catalogue c WHERE c.only_row = 1 FOR NO KEY UPDATE OF c",
    "SELECT identity, revision, rewrites, state, other, label FROM catalogue WHERE only_row = 1",
    "UPDATE catalogue SET state = 'open', revision = 9 WHERE only_row = 1 AND revision >= 0 RETURNING 1",
];

/// The process prepared its statements before the upgrade.
#[needs(postgres)]
#[tokio::test]
async fn a_running_process_of_an_older_release_neither_reads_nor_writes_and_gets_the_reason() {
    let old = old().await;
    run(&old, UpgradeMode::Run, &STEPS[..STEPS.len() - 1]).await.unwrap();
    old.sql("INSERT INTO idempotency VALUES ('a', 'b', 1, 1)").unwrap();
    let connection = Connector::new(&config(&old)).unwrap().connect(Purpose::Calls).await.unwrap();
    for sql in STATEMENTS_OF_1_2_0 {
        connection.query(sql, &[]).await.unwrap();
    }
    old.sql("INSERT INTO idempotency VALUES ('a', 'b', 1, 1)").unwrap();
    // A release that does not know the column `rights` leaves it empty.
    let keys = "('a', 'a', 'pst_a', 1), ('b', 'b', 'psr_b', 1)";
    old.sql(&format!("INSERT INTO api_key (name, digest, prefix, created_at) VALUES {keys}"))
        .unwrap();
    let refusal = run(&old, UpgradeMode::Run, &STEPS).await.unwrap_err();
    assert!(refusal.contains("step to schema version 7 cannot run beside"), "{refusal}");
    run(&old, UpgradeMode::Force, &STEPS).await.unwrap();
    for sql in STATEMENTS_OF_1_2_0 {
        let failure = connection.query(sql, &[]).await.unwrap_err();
        let expected = "was upgraded for petstore 2.0.0, and older releases cannot use it";
        assert!(failure.sealed().is_some_and(|why| why.starts_with(expected)), "{sql}: {failure}");
    }
    assert_eq!(old.sql("SELECT count(*) FROM idempotency").unwrap().trim(), "1");
    let rights = old.sql("SELECT string_agg(rights, ' ' ORDER BY id) FROM api_key").unwrap();
    assert_eq!(rights.trim(), "full read-only");
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_upgrades_run_each_step_once() {
    let old = old().await;
    let mut upgrades = JoinSet::new();
    for _ in 0..6 {
        let config = config(&old);
        upgrades.spawn(async move {
            PostgresStore::upgrade(&config, UpgradeMode::Run).await.unwrap().unwrap()
        });
    }
    let done = upgrades.join_all().await;
    let steps = done.iter().map(|upgrade| upgrade.steps.len()).sum::<usize>();
    assert_eq!(steps, STEPS.len() - 1, "{done:?}");
    let mut idle = done.iter().filter(|upgrade| upgrade.steps.is_empty());
    assert!(idle.all(|upgrade| upgrade.from == VERSION), "{done:?}");
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_step_waits_for_its_locks_without_stopping_reads() {
    let old = old().await;
    let reader = Connector::new(&config(&old)).unwrap().connect(Purpose::Archive).await.unwrap();
    // Holds the lock like a dump, which may do so for hours.
    reader.begin(READ_COMMITTED).await.unwrap();
    reader.batch("SELECT count(*) FROM pet").await.unwrap();
    let config = config(&old);
    let upgrading = tokio::spawn(async move {
        // Without the last step, which is refused while another session is connected.
        upgrade(&config, UpgradeMode::Run, &STEPS[..STEPS.len() - 1]).await.map(Option::unwrap)
    });
    // Waits twice until a step waits for its lock. Each time, a read succeeds as soon as the step gives the lock up.
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                 AND wait_event_type = 'Lock'";
    for _ in 0..2 {
        while old.sql(waits).unwrap().trim() == "0" {
            assert!(!upgrading.is_finished());
            time::sleep(Duration::from_millis(10)).await;
        }
        old.sql("SET statement_timeout = '20s'; SELECT count(*) FROM pet").unwrap();
    }
    assert!(!upgrading.is_finished());
    reader.commit().await.unwrap();
    assert_eq!(upgrading.await.unwrap().unwrap().steps.len(), STEPS.len() - 2);
}

#[needs(postgres)]
#[tokio::test]
async fn a_failed_step_leaves_the_store_unchanged_and_is_not_tried_again() {
    let old = old().await;
    old.sql("CREATE SEQUENCE tries").unwrap();
    let sql = "SELECT nextval('tries'); CREATE TABLE half (x int); SELECT 1 / 0";
    let fails = Step { sql, ..ALONE };
    let refusal = run(&old, UpgradeMode::Force, &with(fails)).await.unwrap_err();
    assert!(refusal.contains("division by zero"), "{refusal}");
    assert_eq!(old.sql("SELECT to_regclass('half') IS NULL").unwrap().trim(), "t");
    assert_eq!(old.sql("SELECT last_value FROM tries").unwrap().trim(), "1");
    assert_eq!(record(&old), "{\"version\": 2}");
}

#[needs(postgres)]
#[tokio::test]
async fn a_database_without_a_store_is_not_upgraded_and_tables_of_others_are_refused() {
    let database = Database::create().unwrap();
    let config = config(&database);
    assert_eq!(PostgresStore::upgrade(&config, UpgradeMode::Run).await.unwrap(), None);
    database.sql("CREATE TABLE pet (x int)").unwrap();
    let mut old = "pet";
    for name in ["pet_id", "petstore_state", "catalogue", "idempotency", "api_key", "pet"] {
        database.sql(&format!("ALTER TABLE {old} RENAME TO {name}")).unwrap();
        old = name;
        let not_upgraded = PostgresStore::upgrade(&config, UpgradeMode::Run).await.map(drop);
        for refusal in [not_upgraded, PostgresStore::connect(&config).await.map(drop)] {
            let refusal = refusal.unwrap_err().to_string();
            let expected = format!("it holds '{name}' of another program");
            assert!(refusal.contains(&expected), "{refusal}");
        }
    }
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(database.sql(tables).unwrap().trim(), "1");
}
