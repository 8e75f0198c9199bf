use std::future;

use petstore_domain::{CategoryId, NewPet, PetName};
use petstore_json::Record;
use petstore_memory::MemoryStore;
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};

use super::{
    MAX_STALL, import,
    source::{Batch, Numbered, Source},
};
use crate::progress::Of;

fn batch() -> Batch {
    let name = PetName::parse("Rex").unwrap();
    let record =
        Record { id: None, pet: NewPet { name, category_id: CategoryId(1), status: None } };
    let records = vec![Numbered { line: 1, record }];
    Batch { records, faults: Vec::new(), of: Of::Unknown }
}

/// What an import of these batches says, and how many animals there are then. The reader of the file ends after
/// them, or stands still.
async fn imported(batches: Vec<Option<Batch>>, stands_still: bool) -> (String, u64) {
    let store = MemoryStore::new();
    let (sender, receiver) = mpsc::channel(batches.len());
    for batch in batches {
        sender.send(Ok(batch)).await.unwrap();
    }
    let _sender = stands_still.then_some(sender);
    let done = import(&store, Source(receiver), false, future::pending());
    let done = timeout(2 * MAX_STALL, done).await.expect("it waits without end");
    let said = done.map_or_else(|failure| failure.to_string(), |imported| imported.to_string());
    (said, petstore_domain::Archive::snapshot(&store).await.unwrap().counts().await.unwrap().pets)
}

#[tokio::test(start_paused = true)]
async fn only_a_file_that_was_read_to_its_end_is_kept() {
    for (batches, stands_still, says, pets) in [
        (vec![Some(batch()), Some(batch()), None], false, "added 2 animals", 2),
        (vec![Some(batch())], false, "nothing was kept: the reader of the file has failed", 0),
        (
            vec![Some(batch())],
            true,
            "nothing was kept: no line came for 10 s, while other writes",
            0,
        ),
    ] {
        let (said, found) = imported(batches, stands_still).await;
        assert!(said.starts_with(says) && found == pets, "{found}: {said}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_import_waits_for_its_first_line_as_long_as_that_takes() {
    let store = MemoryStore::new();
    let (sender, receiver) = mpsc::channel(1);
    let began = Instant::now();
    let feed = async move {
        tokio::time::sleep(10 * MAX_STALL).await;
        sender.send(Ok(Some(batch()))).await.unwrap();
        sender.send(Ok(None)).await.unwrap();
    };
    let (done, ()) = tokio::join!(import(&store, Source(receiver), false, future::pending()), feed);
    assert_eq!(done.unwrap().added, 1);
    assert!(began.elapsed() >= 10 * MAX_STALL);
}
