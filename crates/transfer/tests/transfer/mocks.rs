//! A copy between mocks of the archive.

use std::ops::ControlFlow;

use petstore_domain::{
    ArchiveError, HighestIds, MockArchive, MockSnapshot, Pet, PetId, Snapshot, StoreCounts,
    StoreError, Timestamp, mocks::new_pet,
};
use petstore_transfer::{CopyPorts, TransferError};

fn pet(name: &str) -> Pet {
    new_pet(name).with_id(PetId(1))
}

/// A store that holds one animal. A write to the store fails the test.
fn read_only(name: &'static str) -> MockArchive {
    let mut archive = MockArchive::new();
    archive.expect_write_rows().never();
    archive.expect_snapshot().returning(move || {
        let mut snapshot = MockSnapshot::new();
        let counts = StoreCounts { pets: 1, keys: 0, records: 0 };
        snapshot.expect_counts().returning(move || Ok(counts));
        snapshot.expect_pets().returning(move |after, _| {
            Ok(if after.is_none() { vec![pet(name)] } else { Vec::new() })
        });
        snapshot.expect_highest_ids().returning(|| Ok(HighestIds::default()));
        snapshot.expect_keys().returning(|| Ok(Vec::new()));
        snapshot.expect_records().returning(|_, _| Ok(Vec::new()));
        Ok(Box::new(snapshot) as Box<dyn Snapshot>)
    });
    archive
}

async fn failure(from: MockArchive, to: MockArchive) -> TransferError {
    let [from, to] = [&from, &to].map(|archive| CopyPorts { archive, handover: None });
    petstore_transfer::copy(from, to, Timestamp(0), &mut |_| ControlFlow::Continue(()))
        .await
        .unwrap_err()
}

#[tokio::test]
async fn nothing_is_written_to_a_target_with_other_data() {
    let refusal = failure(read_only("ours"), read_only("theirs")).await;
    assert_eq!(
        refusal.to_string(),
        "the target holds other data and was left as it is: animal 1 differs (source: \"ours\" of category 1, \
         without a status; target: \"theirs\" of category 1, without a status)"
    );
}

#[tokio::test]
async fn an_error_names_the_failed_store() {
    let broken = || {
        let mut archive = MockArchive::new();
        archive.expect_snapshot().returning(|| Err(StoreError::unavailable("the disk is gone")));
        archive
    };
    let from = failure(broken(), read_only("theirs")).await;
    assert!(matches!(&from, TransferError::Source(StoreError::Unavailable(_))));
    assert_eq!(from.to_string(), "the source: the store cannot answer: the disk is gone");
    let to = failure(read_only("ours"), broken()).await;
    assert!(matches!(&to, TransferError::Target(ArchiveError::Store(StoreError::Unavailable(_)))));
    assert_eq!(to.to_string(), "the target: the store cannot answer: the disk is gone");
}

#[tokio::test]
async fn a_corrupt_row_of_the_target_is_named() {
    let mut corrupt = MockArchive::new();
    corrupt.expect_write_rows().never();
    corrupt.expect_snapshot().returning(|| {
        let mut snapshot = MockSnapshot::new();
        snapshot.expect_counts().returning(|| Ok(StoreCounts::default()));
        snapshot.expect_highest_ids().returning(|| Ok(HighestIds::default()));
        snapshot
            .expect_pets()
            .returning(|_, _| Err(StoreError::corrupt("animal 7", "it has a name")));
        Ok(Box::new(snapshot) as Box<dyn Snapshot>)
    });
    let failure = failure(read_only("ours"), corrupt).await;
    assert!(
        matches!(failure, TransferError::Target(ArchiveError::Store(StoreError::Corrupt(_)))),
        "{failure}"
    );
}
