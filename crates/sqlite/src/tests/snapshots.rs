//! Reads and the mark of what they saw.

use petstore_domain::{CatalogueVersion, PageLimit, PetId, PetQuery, PetRepository, Timestamp};

use super::{Place, add};
use crate::{
    store::SqliteStore,
    version::{self, Change},
};

/// The mark in the file.
fn stored(place: &Place) -> CatalogueVersion {
    let mark: [u8; 16] = place.raw().query_row(version::SELECT, [], |row| row.get(0)).unwrap();
    CatalogueVersion(u128::from_be_bytes(mark))
}

/// What another process does.
fn change_by_another(place: &Place) {
    place.raw().execute("UPDATE pet SET name = 'Bello'", []).unwrap();
}

#[tokio::test]
async fn a_read_leaves_no_transaction_open() {
    let place = Place::new();
    let store = place.open();
    add(&store).await;
    for id in [1, 2] {
        store.find(PetId(id)).await.unwrap();
        store.list(PetQuery { limit: PageLimit::MIN, ..PetQuery::default() }).await.unwrap();
        // An open one would hold this up for good.
        let busy: i64 =
            place.raw().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).unwrap();
        assert_eq!(busy, 0);
    }
}

#[tokio::test]
async fn the_board_shows_nothing_while_it_cannot_look_and_recovers() {
    let place = Place::new();
    let store = place.open();
    add(&store).await;
    let raw = place.raw();
    raw.execute("ALTER TABLE catalogue RENAME TO away", []).unwrap();
    store.board.renew();
    assert_eq!(store.board.mark(), None);
    raw.execute("ALTER TABLE away RENAME TO catalogue", []).unwrap();
    store.board.renew();
    assert_eq!(store.board.mark(), Some(stored(&place)));
}

#[tokio::test]
async fn the_board_follows_a_commit_whoever_has_written_before() {
    let place = Place::new();
    let store = place.open();
    let own = async |store: &SqliteStore| {
        add(store).await;
        assert_eq!(store.board.mark(), Some(stored(&place)));
    };
    own(&store).await;
    own(&store).await;
    // Nobody has looked since.
    change_by_another(&place);
    own(&store).await;
}

#[tokio::test]
async fn the_board_does_not_go_back_to_a_commit_behind_one_that_was_seen() {
    let place = Place::new();
    let store = place.open();
    add(&store).await;
    let before = store.board.mark();
    add(&store).await;
    let change = Change { before, after: stored(&place) };
    change_by_another(&place);
    store.board.renew();
    store.board.follow(change);
    assert_eq!(store.board.mark(), Some(stored(&place)));
    // Nor where neither is known.
    store.board.follow(Change { before: None, ..change });
    assert_eq!(store.board.mark(), Some(stored(&place)));
}

#[tokio::test]
async fn a_page_without_animals_has_the_mark_of_its_state() {
    let place = Place::new();
    let store = place.open();
    let empty = store.list(PetQuery::default()).await.unwrap();
    assert_eq!((empty.value.pets.len(), empty.version), (0, store.version()));
    add(&store).await;
    let behind = PetQuery { after: Some(PetId(1)), ..PetQuery::default() };
    let later = store.list(behind).await.unwrap();
    assert_eq!((later.value.pets.len(), later.version), (0, store.version()));
    assert_ne!(later.version, empty.version);
}

#[tokio::test]
async fn a_transaction_without_a_change_of_animals_leaves_the_mark() {
    let place = Place::new();
    let store = place.open();
    add(&store).await;
    let before = store.version();
    store.purge_expired(Timestamp(i64::MAX), 10).await.unwrap();
    store.board.renew();
    assert_eq!(store.version(), before);
    add(&store).await;
    assert_ne!(store.version(), before);
}
