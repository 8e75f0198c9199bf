//! The body of an HTTP/2 response, counted as in flight until its bytes have been sent.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Buf, Bytes};
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};

use super::in_flight::{InFlightAnswer, InFlightRequest};

/// A response body whose request is in flight until its bytes have been sent.
#[derive(Debug)]
pub(super) struct CountedBody {
    body: Full<Bytes>,
    /// Goes with the bytes.
    answer: Option<InFlightAnswer>,
}

/// The bytes of a response. h2 takes them all at once, and keeps them while the client's windows are
/// closed; it advances through them as it sends them.
#[derive(Debug)]
pub(super) struct CountedBytes {
    bytes: Bytes,
    answer: Option<InFlightAnswer>,
}

impl CountedBody {
    pub(super) fn new(body: Full<Bytes>, request: InFlightRequest) -> Self {
        Self { body, answer: Some(InFlightAnswer::new(request)) }
    }
}

impl Body for CountedBody {
    type Data = CountedBytes;
    type Error = <Full<Bytes> as Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<CountedBytes>, Self::Error>>> {
        let Self { body, answer } = &mut *self;
        let count = |bytes| CountedBytes { bytes, answer: answer.take() };
        Pin::new(body).poll_frame(cx).map_ok(|frame| frame.map_data(count))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Buf for CountedBytes {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        if let Some(answer) = &self.answer {
            answer.take(count);
        }
    }
}
