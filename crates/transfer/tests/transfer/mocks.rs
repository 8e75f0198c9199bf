//! A copy between mocks of the archive, which fail at once or while they are read.

use std::ops::ControlFlow;

use petstore_domain::{
    HighestIds, MockArchive, MockSnapshot, Pet, PetId, Snapshot, StoreCounts, StoreError,
    Timestamp, mocks::new_pet,
};
use petstore_transfer::CopyPorts;

/// A store with these animals and without other rows.
fn archive(pets: fn() -> Result<Vec<Pet>, StoreError>) -> MockArchive {
    let mut archive = MockArchive::new();
    archive.expect_snapshot().returning(move || {
        let mut snapshot = MockSnapshot::new();
        snapshot.expect_counts().returning(|| Ok(StoreCounts::default()));
        snapshot.expect_highest_ids().returning(|| Ok(HighestIds::default()));
        snapshot
            .expect_pets()
            .returning(move |after, _| if after.is_none() { pets() } else { Ok(Vec::new()) });
        snapshot.expect_keys().returning(|| Ok(Vec::new()));
        snapshot.expect_records().returning(|_, _| Ok(Vec::new()));
        Ok(Box::new(snapshot) as Box<dyn Snapshot>)
    });
    archive
}

fn sound() -> MockArchive {
    archive(|| Ok(vec![new_pet("Rex").with_id(PetId(1))]))
}

fn corrupt() -> MockArchive {
    archive(|| Err(StoreError::corrupt("animal 7", "it has a name")))
}

fn gone() -> MockArchive {
    let mut archive = MockArchive::new();
    archive.expect_snapshot().returning(|| Err(StoreError::unavailable("the disk is gone")));
    archive
}

#[tokio::test]
async fn an_error_names_the_failed_store() {
    let breach = "the store holds animal 7, which breaks the rule: it has a name";
    let outage = "the store cannot answer: the disk is gone";
    for (from, to, expected) in [
        (gone(), sound(), format!("the source: {outage}")),
        (sound(), gone(), format!("the target: {outage}")),
        (corrupt(), sound(), format!("the source: {breach}")),
        (sound(), corrupt(), format!("the target: {breach}")),
    ] {
        let [from, to] = [&from, &to].map(|archive| CopyPorts { archive, handover: None });
        let on_progress = &mut |_| ControlFlow::Continue(());
        let copied = petstore_transfer::copy(from, to, Timestamp(0), on_progress).await;
        assert_eq!(copied.unwrap_err().to_string(), expected);
    }
}
