//! The catalogue's version.

use std::{collections::HashSet, time::Duration};

use petstore_domain::PetRepository;

use crate::support::{NOW, Place, add, once, rex, version};

/// How soon another process's write must show.
const LIMIT: Duration = Duration::from_millis(100);

#[tokio::test]
async fn what_adds_nothing_leaves_the_version() {
    let place = Place::new();
    let store = place.open();
    store.add(rex(), Some(once())).await.unwrap();
    let before = version(&store);
    store.add(rex(), Some(once())).await.unwrap();
    store.purge_expired(NOW, 10).await.unwrap();
    assert_eq!(version(&store), before);
}

#[tokio::test]
async fn a_change_by_hand_changes_the_version() {
    let place = Place::new();
    let store = place.open();
    add(&store, rex()).await;
    for sql in [
        "UPDATE pet SET status = 'sold' WHERE id = 1",
        "INSERT INTO pet (name, category_id) VALUES ('Bello', 2)",
        "DELETE FROM pet WHERE id = 2",
    ] {
        let before = version(&store);
        place.raw().execute(sql, []).unwrap();
        tokio::time::sleep(LIMIT).await;
        assert_ne!(version(&store), before, "{sql}");
    }
}

#[test]
fn new_stores_have_different_versions() {
    let versions = [(); 5].map(|()| version(&Place::new().open()));
    assert_eq!(HashSet::from(versions).len(), 5);
}
