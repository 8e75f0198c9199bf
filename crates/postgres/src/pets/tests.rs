//! The server's plans of the statements on animals and records.

use petstore_domain::PetStatus;
use petstore_testing::{Database, needs};
use tokio_postgres::Row;

use super::{addition, rows};
use crate::{
    api_keys as keys,
    config::PostgresConfig,
    connection::{APPENDING_LOCKED, SNAPSHOT},
    connector::{Connector, Purpose},
    handover::STATE,
    sequences::RAISE,
    store::PostgresStore,
    version,
};

#[needs(postgres)]
#[tokio::test]
async fn a_page_and_the_highest_identifier_are_read_by_their_index_at_every_table_size() {
    let database = Database::create().unwrap();
    let config = PostgresConfig::parse(&database.url).unwrap();
    drop(PostgresStore::connect(&config).await.unwrap());
    let connector = Connector::new(&config).unwrap();
    let connection = connector.connect(Purpose::Calls).await.unwrap();
    let batch = connector.connect(Purpose::Archive).await.unwrap();
    let animals =
        "INSERT INTO pet (name, category_id) SELECT 'Rex', 1 FROM generate_series(1, 5000)";
    for sql in ["SELECT 1", animals] {
        database.sql(sql).unwrap();
        for (session, value) in [(&connection, "NULL"), (&batch, "NULL"), (&batch, "0")] {
            let explain = format!("EXPLAIN {}", RAISE.replace("$1", value)).leak();
            let plan = text(&session.query_alone(explain, &[]).await.unwrap());
            assert!(plan.contains("Scan Backward using pet_pkey on pet"), "{plan}");
        }
        for (status, index) in [(None, "pet_pkey"), (Some(PetStatus::Sold), "pet_sold")] {
            let page = rows::page(status);
            for _ in 0..8 {
                connection.query(page, &[&0_i64, &21_i64]).await.unwrap();
            }
            // PostgreSQL 12 and 13 do not count plans.
            let plans = "SELECT to_jsonb(s) ->> 'custom_plans', to_jsonb(s) ->> 'generic_plans', \
                name FROM pg_prepared_statements s WHERE statement = $1";
            let made = connection.query(plans, &[&page]).await.unwrap();
            let custom: Option<&str> = made[0].get(0);
            assert!(custom.is_none_or(|custom| custom == "0"), "{page} is planned for its values");
            let generic = made[0].get::<_, Option<&str>>(1).map(str::parse::<u32>);
            assert!(generic.is_none_or(|generic| generic.unwrap() >= 8), "{page}");
            // The plan that the server keeps.
            let explain = format!("EXPLAIN EXECUTE {}(0, 21)", made[0].get::<_, &str>(2)).leak();
            let plan = text(&connection.query_alone(explain, &[]).await.unwrap());
            let is_by_index = plan.contains(&format!("Index Scan using {index} on pet"));
            assert!(is_by_index && plan.contains("(id > $1)"), "{plan}");
        }
    }
}

/// The server may plan the writer's statements while the table has one row, and uses these plans until it updates its
/// statistics.
#[needs(postgres)]
#[tokio::test]
async fn records_are_found_by_their_index_even_if_planned_for_a_small_table() {
    let database = Database::create().unwrap();
    let config = PostgresConfig::parse(&database.url).unwrap();
    drop(PostgresStore::connect(&config).await.unwrap());
    let ids = vec![&[1_u8; 16][..]];
    let one = "INSERT INTO pet (name, category_id) VALUES ('Rex', 1); \
        INSERT INTO idempotency VALUES ('', '', 1, 1); ANALYZE pet, idempotency";
    for before in ["SELECT 1", one] {
        database.sql(before).unwrap();
        let connection = Connector::new(&config).unwrap().connect(Purpose::Calls).await.unwrap();
        connection.query(rows::RECORDS, &[&ids]).await.unwrap();
        connection.query(rows::RECORDS_AFTER, &[&0_i64, &ids[0], &9_i64]).await.unwrap();
        let names = "SELECT name FROM pg_prepared_statements WHERE statement = $1";
        for (sql, values, by) in [
            (rows::RECORDS, "'{a}'", "(id = ANY ($1))"),
            (rows::RECORDS_AFTER, "1, 'a', 9", "(ROW(pet_id, id) > ROW($1, $2))"),
        ] {
            let name = &connection.query(names, &[&sql]).await.unwrap()[0];
            let explain = format!("EXPLAIN EXECUTE {}({values})", name.get::<_, &str>(0)).leak();
            let plan = text(&connection.query_alone(explain, &[]).await.unwrap());
            assert!(plan.contains(&format!("Index Cond: {by}")), "{before}\n{plan}");
        }
        // The function that adds animals deletes expired records, and reads the records of repeats, by the index too.
        connection.begin(APPENDING_LOCKED).await.unwrap();
        let add = addition::ADD.replace("$8", "'\\x00'");
        let array = |value: &str, kind: &str| format!("ARRAY[{value}, {value}]::{kind}[]");
        let values = [("'Rex'", "text"), ("1", "bigint"), ("'sold'", "text"), ("'k'", "bytea")];
        let values = values.into_iter().chain([("'f'", "bytea"), ("9", "bigint"), ("5", "bigint")]);
        let add = (1..).zip(values).fold(add, |sql, (number, (value, kind))| {
            sql.replace(&format!("${number}::{kind}[]"), &array(value, kind))
        });
        let added = connection.query(add.leak(), &[]).await.unwrap();
        assert!(added[0].get::<_, Option<i64>>(2).is_some());
        assert_eq!(added[1].get::<_, Option<&[u8]>>(6), Some(&b"k"[..]));
        let scans = "SELECT coalesce(sum(seq_scan), 0)::bigint FROM pg_stat_xact_user_tables \
            WHERE relname IN ('pet', 'idempotency')";
        assert_eq!(connection.query(scans, &[]).await.unwrap()[0].get::<_, i64>(0), 0, "{before}");
    }
}

fn text(plan: &[Row]) -> String {
    plan.iter().map(|row| row.get::<_, &str>(0).to_owned() + "\n").collect()
}

/// Each commit leaves the previous version of the state's only row, because an open snapshot may still read that
/// version.
#[needs(postgres)]
#[tokio::test]
async fn no_statement_reads_the_old_versions_of_the_state_that_a_snapshot_keeps() {
    let database = Database::create().unwrap();
    let config = PostgresConfig::parse(&database.url).unwrap();
    drop(PostgresStore::connect(&config).await.unwrap());
    let connector = Connector::new(&config).unwrap();
    let snapshot = connector.connect(Purpose::Archive).await.unwrap();
    snapshot.begin(SNAPSHOT).await.unwrap();
    snapshot.query(version::SELECT, &[]).await.unwrap();
    let commits = "DO $$ BEGIN FOR i IN 1..3000 LOOP UPDATE petstore_state SET changes = changes + 1 \
        WHERE changes >= (SELECT changes FROM petstore_state ORDER BY changes DESC LIMIT 1); COMMIT; END LOOP; END $$";
    let rows = "INSERT INTO api_key (id, name, digest, prefix, rights, created_at) \
            VALUES (1, 'web', 'd', 'pst_a', 'full', 1); \
        INSERT INTO idempotency SELECT n::text::bytea, '', 1, 0 FROM generate_series(1, 9) n";
    for sql in [rows, commits] {
        database.sql(sql).unwrap();
    }
    let connection = connector.connect(Purpose::Calls).await.unwrap();
    let list = rows::page(None).replace("$1", "0").replace("$2", "21");
    let find = rows::FIND.replace("$1", "1");
    let purge = rows::PURGE.replace("$1", "0").replace("$2", "1");
    let add = addition::ADD.replace("$8", "'\\x00'");
    let add = (1..8).fold(add, |sql, n| sql.replace(&format!("${n}"), "NULL"));
    let uses = keys::NOTE_USES.replace("$1", "'{1}'").replace("$2", "'{1}'");
    connection.begin(APPENDING_LOCKED).await.unwrap();
    for sql in [version::SELECT, version::LOCK, STATE, &list, &find, &purge, &add, &uses] {
        // The first run marks the index entries of dead rows, which later runs then skip.
        for _ in 0..2 {
            connection.batch(sql).await.unwrap();
        }
        let explain = format!("EXPLAIN (ANALYZE, BUFFERS) {sql}").leak();
        let plan = text(&connection.query(explain, &[]).await.unwrap());
        let locks = [version::LOCK, &purge, &uses].contains(&sql);
        assert!(plan.contains("LockRows") == locks || sql == add, "{sql}\n{plan}");
        let hits = plan.split("shared hit=").nth(1).and_then(|rest| rest.split([' ', '\n']).next());
        assert!(hits.is_none_or(|hits| hits.parse::<u32>().unwrap() < 30), "{sql}\n{plan}");
    }
}

#[needs(postgres)]
#[tokio::test]
async fn a_purge_reads_only_expired_records() {
    let database = Database::create().unwrap();
    drop(PostgresStore::connect(&PostgresConfig::parse(&database.url).unwrap()).await.unwrap());
    let records = "INSERT INTO idempotency SELECT substr(sha256(n::text::bytea), 1, 16), \
        sha256(''), n, n FROM generate_series(1, 20000) n";
    let purge = rows::PURGE.replace("$1", "500").replace("$2", "500");
    let explain = &*format!("EXPLAIN {purge}").leak();
    for sql in [records, "ANALYZE idempotency"] {
        database.sql(sql).unwrap();
        for parameters in ["", "?pgbouncer=true"] {
            let config = PostgresConfig::parse(&format!("{}{parameters}", database.url)).unwrap();
            let connector = Connector::new(&config).unwrap();
            let connection = connector.connect(Purpose::Calls).await.unwrap();
            let plan = text(&connection.query_alone(explain, &[]).await.unwrap());
            let is_by_age = plan.contains("Index Scan using idempotency_by_age");
            assert!(is_by_age && !plan.contains("Seq Scan"), "{sql} {parameters}\n{plan}");
        }
    }
}
