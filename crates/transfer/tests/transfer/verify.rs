//! [`verify`](petstore_transfer::verify) over two stores.

use std::{ops::ControlFlow, sync::Arc, time::Duration};

use petstore_domain::{
    CategoryId, Fingerprint, HighestIds, KeyDigest, KeyId, KeyRights, PetId, PetStatus, Rows,
    StoreCounts, Timestamp, mocks::new_pet,
};
use petstore_memory::MemoryStore;
use petstore_transfer::TransferError;

use crate::stores::{
    START, add, fill, held, id, key, name, pet, restore, store, use_first_key, write,
};

async fn verify(
    from: &Arc<MemoryStore>,
    to: &Arc<MemoryStore>,
) -> Result<StoreCounts, TransferError> {
    petstore_transfer::verify(&**from, &**to, START, &mut |_| ControlFlow::Continue(())).await
}

async fn difference(from: &Arc<MemoryStore>, to: &Arc<MemoryStore>) -> String {
    match verify(from, to).await {
        Err(TransferError::Different(difference)) => difference.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_rows_of_equal_stores_are_counted() {
    let (from, to) = (store(), store());
    for store in [&from, &to] {
        fill(store, 6_000).await;
        key(store, 1, "web").await;
        add(store, "Rex", Some((id(1), START))).await;
        add(store, "Rex", Some((id(2), START))).await;
        let ends = [i64::MIN, -1, 0, i64::MAX];
        restore(store, ends.map(|id| pet(id, "end")).into()).await;
    }
    let counts = verify(&from, &to).await.unwrap();
    assert_eq!(counts, StoreCounts { pets: 6_006, keys: 1, records: 2 });
}

type ChangeRow = fn(&mut Rows);

#[tokio::test]
async fn every_field_of_a_row_except_the_last_use_is_compared() {
    let sample = store();
    add(&sample, "Rex", Some((id(1), START))).await;
    key(&sample, 1, "web").await;
    let (pets, keys, records) = held(&*sample).await;
    let sample = Rows { pets, keys, records, highest: HighestIds::default() };
    // A change of one field, with the start and the end of the text that names the difference.
    let rex = "animal 1 differs (source: \"Rex\" of category 1, without a status; target: ";
    let web = "API key 1 differs (source: 'web' (pst_";
    let record = "idempotency record 0000";
    let cases: [(ChangeRow, &str, &str); 16] = [
        (|rows| rows.pets[0].id = PetId(8), rex, "missing)"),
        (
            |rows| rows.pets[0].name = new_pet("Tom").name,
            rex,
            "\"Tom\" of category 1, without a status)",
        ),
        (
            |rows| rows.pets[0].category_id = CategoryId(2),
            rex,
            "\"Rex\" of category 2, without a status)",
        ),
        (|rows| rows.pets[0].status = Some(PetStatus::Sold), rex, "\"Rex\" of category 1, sold)"),
        (|rows| rows.keys[0].id = KeyId(2), web, "; target: missing)"),
        (|rows| rows.keys[0].name = name("Web"), web, " ms)"),
        (
            |rows| rows.keys[0].digest = KeyDigest(*b"\x0a\xbc\0\x01and 28 more, which are unsee"),
            web,
            ", digest 0abc0001…), made at 1800000000000 ms)",
        ),
        (|rows| rows.keys[0].prefix = "pst_other".to_owned(), web, " ms)"),
        (|rows| rows.keys[0].rights = KeyRights::ReadOnly, web, " ms)"),
        (|rows| rows.keys[0].created_at.0 += 1, web, ", made at 1800000000001 ms)"),
        (|rows| rows.keys[0].expires_at = Some(Timestamp(5)), web, " ms, expires at 5 ms)"),
        (|rows| rows.keys[0].revoked_at = Some(Timestamp(6)), web, " ms, revoked at 6 ms)"),
        (|rows| rows.records[0].id = id(2), record, ")"),
        (|rows| rows.records[0].fingerprint = Fingerprint([9; 32]), record, ")"),
        (|rows| rows.records[0].pet = PetId(2), record, ")"),
        (|rows| rows.records[0].at.0 -= 1, record, ")"),
    ];
    for (change, start, end) in cases {
        let (from, to, mut changed) = (store(), store(), sample.clone());
        change(&mut changed);
        write(&from, sample.clone()).await;
        write(&to, changed).await;
        let words = difference(&from, &to).await;
        assert!(words.starts_with(start) && words.ends_with(end), "{words}, not {start}…{end}");
    }
    let (from, to) = (store(), store());
    write(&from, sample.clone()).await;
    write(&to, sample).await;
    use_first_key(&to, START).await;
    verify(&from, &to).await.unwrap();
    // The first row after the end of the other store is named too.
    fill(&from, 2).await;
    let end = "animal 2 differs (source: \"Rex\" of category 1, without a status; target: missing)";
    assert_eq!(difference(&from, &to).await, end);
    let start = "animal 2 differs (source: missing; target: ";
    assert!(difference(&to, &from).await.starts_with(start));
}

#[tokio::test]
async fn records_are_compared_until_they_expire() {
    let (from, to) = (store(), store());
    let expired = START.minus(Duration::from_hours(24));
    add(&from, "Rex", Some((id(1), expired))).await;
    add(&to, "Rex", None).await;
    verify(&from, &to).await.unwrap();
    add(&from, "Rex", Some((id(2), START))).await;
    add(&to, "Rex", None).await;
    let words = difference(&from, &to).await;
    let start = format!("idempotency record {} differs (source: of animal 2 (digest ", id(2));
    assert!(words.starts_with(&start), "{words}");
}

#[tokio::test]
async fn a_target_is_refused_if_it_would_assign_an_identifier_twice() {
    for (kind, highest) in [
        ("animals", HighestIds { pet: Some(PetId(7)), key: None }),
        ("API keys", HighestIds { pet: None, key: Some(KeyId(7)) }),
    ] {
        let (from, to) = (store(), store());
        write(&from, Rows { highest, ..Rows::default() }).await;
        let refusal = verify(&from, &to).await.unwrap_err().to_string();
        let expected = format!("highest identifier of {kind} ever assigned differs (source: 7; ");
        assert!(refusal.contains(&expected), "{refusal}");
        verify(&to, &from).await.unwrap();
    }
}
