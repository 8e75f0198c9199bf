//! A mark and what was read under it are of one moment.

use petstore_domain::{CatalogueVersion, PetId, ReadError};

use super::{Place, add};
use crate::{pets::rows, version};

#[tokio::test]
async fn what_is_committed_between_the_mark_and_the_data_shows_in_neither() {
    let place = Place::new();
    let store = place.open();
    let pet = add(&store).await;
    let mark = || store.board.mark().unwrap();
    let before = mark();
    let raw = place.raw();
    let read = store.readers.read::<_, ReadError>(|connection| {
        version::versioned(connection, |connection| {
            raw.execute("UPDATE pet SET name = 'Bello'", []).unwrap();
            Ok(connection.query_row(rows::FIND, [pet.id.0], |row| row.get::<_, String>("name"))?)
        })
    });
    let read = read.unwrap();
    assert_eq!((read.value.as_str(), read.version), ("Rex", Some(before)));
    store.board.renew();
    assert_ne!(mark(), before);
}

#[tokio::test]
async fn a_read_leaves_no_transaction_open() {
    let place = Place::new();
    let store = place.open();
    add(&store).await;
    for id in [1, 2] {
        let read = store.readers.read::<_, ReadError>(|connection| {
            version::versioned(connection, |connection| {
                rows::find::<ReadError>(connection, PetId(id))
            })
        });
        read.unwrap();
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
    let stored: [u8; 16] = raw.query_row(version::SELECT, [], |row| row.get(0)).unwrap();
    assert_eq!(store.board.mark(), Some(CatalogueVersion(u128::from_be_bytes(stored))));
}
