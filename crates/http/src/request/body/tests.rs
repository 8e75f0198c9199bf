use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use hyper::{
    HeaderMap,
    body::{Body, Frame, SizeHint},
    header::EXPECT,
};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};

use super::RequestBody;
use crate::{request::tests::headers_of, response::error::ErrorCode};

const SOON: Duration = Duration::from_millis(20);
/// A time limit that only an endless read exceeds.
const GENEROUS: Duration = Duration::from_mins(1);

/// A body of some pieces. With `stuck`, the body never ends.
struct Pieces {
    left: Vec<&'static str>,
    stuck: bool,
    announced: u64,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left.is_empty() {
            return if self.stuck { Poll::Pending } else { Poll::Ready(None) };
        }
        let piece = self.left.remove(0);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(piece.as_bytes())))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty() && !self.stuck
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = SizeHint::new();
        hint.set_lower(self.announced);
        hint
    }
}

fn pieces(left: &[&'static str], stuck: bool) -> Pieces {
    Pieces { left: left.to_vec(), stuck, announced: 0 }
}

/// Returns enough memory for every body of these tests.
fn memory() -> Semaphore {
    Semaphore::new(100)
}

async fn read(body: &mut Pieces, limit: usize) -> Result<Bytes, ErrorCode> {
    let memory = memory();
    let mut body = RequestBody::new(body, &memory);
    let read = timeout(GENEROUS, body.read(limit, SOON)).await.expect("the read ends");
    read.map_err(|error| error.code)
}

#[tokio::test]
async fn a_body_is_read_up_to_its_limits_of_size_and_time() {
    for cut in [&["abcde"][..], &["ab", "cde"], &["a", "", "bcd", "e"]] {
        assert_eq!(read(&mut pieces(cut, false), 5).await.unwrap(), "abcde");
        assert_eq!(read(&mut pieces(cut, false), 4).await, Err(ErrorCode::BodyTooLarge));
    }
    assert_eq!(read(&mut pieces(&[], false), 0).await.unwrap(), "");
    assert_eq!(read(&mut pieces(&["a"], true), 5).await, Err(ErrorCode::RequestTimeout));
}

#[tokio::test]
async fn an_unread_body_is_skipped_only_if_it_has_arrived_and_is_small() {
    tokio::time::pause();
    let none = HeaderMap::new();
    let expecting = headers_of(&EXPECT, &["100-continue"]);
    let announced = || Pieces { announced: 6, ..pieces(&["ab"], false) };
    let table = [
        (pieces(&[], false), &expecting, true), // There is nothing to read.
        (pieces(&["ab", "cde"], false), &none, true),
        (pieces(&["ab", "cdef"], false), &none, false),
        (pieces(&["ab"], true), &none, false),
        (pieces(&["ab"], false), &expecting, false),
        (announced(), &none, false),
    ];
    let began = Instant::now();
    let memory = memory();
    for (at, (mut body, headers, skipped)) in table.into_iter().enumerate() {
        let mut body = RequestBody::new(&mut body, &memory);
        assert_eq!(body.skip_arrived(headers, 5).await, skipped, "{at}");
        assert_eq!(body.has_ended(), skipped, "{at}");
    }
    assert_eq!(began.elapsed(), Duration::ZERO, "no call has waited");
}

#[tokio::test]
async fn all_bodies_together_stay_within_their_memory() {
    let memory = Semaphore::new(10);
    let (mut unfinished, mut whole, mut third) =
        (pieces(&["abc", "def"], true), pieces(&["1234"], false), pieces(&["x"], false));
    let mut first = RequestBody::new(&mut unfinished, &memory);
    assert_eq!(first.read(100, SOON).await.unwrap_err().code, ErrorCode::RequestTimeout);
    let mut second = RequestBody::new(&mut whole, &memory);
    assert_eq!(second.read(100, SOON).await.unwrap(), "1234");
    assert_eq!(memory.available_permits(), 0);

    let refusal = RequestBody::new(&mut third, &memory).read(100, SOON).await.unwrap_err();
    assert_eq!(refusal.code, ErrorCode::Unavailable);
    assert!(refusal.into_response().headers().contains_key("retry-after"));
    drop(first);
    assert_eq!(memory.available_permits(), 6);
    drop(second);
    assert_eq!(memory.available_permits(), 10);
}
