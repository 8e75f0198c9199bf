//! A panic of a thread of the store cancels the token of the program.

use petstore_domain::PetRepository as _;
use tokio_util::sync::CancellationToken;

use super::{Place, SHORT, add, in_time};
use crate::{open::open, store::SqliteSettings};

#[tokio::test]
async fn a_writer_that_panics_cancels_the_token() {
    let place = Place::new();
    let on_task_panic = CancellationToken::new();
    let settings = SqliteSettings { on_task_panic: on_task_panic.clone(), ..Default::default() };
    let store = open(&place.config(), &settings, SHORT).unwrap();
    add(&store).await;
    let failed = store.writer().unwrap().write::<()>(|_| panic!("as asked"));
    let failed = in_time(failed).await.unwrap_err().to_string();
    assert_eq!(failed, "the store cannot answer: the writer has stopped");
    in_time(on_task_panic.cancelled()).await;
    let refused = in_time(store.add(super::rex(), None)).await.unwrap_err().to_string();
    assert_eq!(refused, "the store cannot answer: the writer has stopped");
}
