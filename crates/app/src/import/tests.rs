use std::future;

use petstore_domain::{Archive as _, CategoryId, NewPet, PetName};
use petstore_json::Record;
use petstore_memory::MemoryStore;
use tokio::sync::mpsc;

use super::{
    Import,
    source::{Batch, Source},
};

fn batch(line: u64) -> Batch {
    let name = PetName::parse("Rex").unwrap();
    let record =
        Record { id: None, pet: NewPet { name, category_id: CategoryId(1), status: None } };
    Batch {
        is_check: false,
        records: vec![(line, record)],
        faults: Vec::new(),
        last_line: line,
        digest: [u8::try_from(line).unwrap(); 32],
        of: 0,
    }
}

/// What an import of these batches says, after which the reader of the file ends.
async fn imported(store: &MemoryStore, batches: Vec<Option<Batch>>) -> String {
    let (sender, receiver) = mpsc::channel(batches.len());
    for batch in batches {
        sender.send(Ok(batch)).await.unwrap();
    }
    drop(sender);
    let import = Import::new(store, false, false);
    let done = import.run(Source(receiver), future::pending()).await;
    done.unwrap_or_else(|failure| failure.to_string())
}

#[tokio::test]
async fn a_file_of_which_the_reader_has_failed_is_kept_up_to_there_and_gone_on_with() {
    let store = MemoryStore::new();
    let said = imported(&store, vec![Some(batch(1)), Some(batch(2))]).await;
    let expected = "kept up to line 2, and no further: the reader of the file has failed; run it";
    assert!(said.starts_with(expected), "{said}");
    let said = imported(&store, vec![Some(batch(1)), Some(batch(2)), Some(batch(3)), None]).await;
    assert!(said.starts_with("added 1 animals, passed over 2 that were there"), "{said}");
    assert_eq!(store.snapshot().await.unwrap().counts().await.unwrap().pets, 3);
}
