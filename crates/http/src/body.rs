//! Request bodies: read within a limit and a time, or left alone.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::{
    HeaderMap,
    body::{Body, Frame},
    header::EXPECT,
};
use tokio::time::timeout;

use crate::error::{ApiError, ErrorCode};

/// The body of one request. It knows when it has been read to its end, which hyper's own body does not
/// say of a chunked one.
#[derive(Debug)]
pub(crate) struct RequestBody<'b, B> {
    body: &'b mut B,
    progress: Progress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// There is more, or may be.
    Open,
    Ended,
    /// It broke off, or is not framed as its head says.
    Broken,
}

impl<'b, B> RequestBody<'b, B>
where
    B: Body<Data = Bytes> + Unpin,
{
    /// A body of which nothing has been read.
    pub(crate) fn new(body: &'b mut B) -> Self {
        let progress = if body.is_end_stream() { Progress::Ended } else { Progress::Open };
        Self { body, progress }
    }

    /// Refuses, with 413, a body that is announced to have more than `limit` bytes, before any of it is
    /// read.
    pub(crate) fn require_fitting(&self, limit: usize) -> Result<(), ApiError> {
        if self.is_announced_within(limit) { Ok(()) } else { Err(too_large(limit)) }
    }

    /// The whole body: at most `limit` bytes, arrived within `time`.
    pub(crate) async fn read(&mut self, limit: usize, time: Duration) -> Result<Bytes, ApiError> {
        timeout(time, pin!(self.collect(limit))).await.unwrap_or_else(|_| {
            let message = format!("the body did not arrive whole within {time:?}");
            Err(ApiError::new(ErrorCode::RequestTimeout, message))
        })
    }

    async fn collect(&mut self, limit: usize) -> Result<Bytes, ApiError> {
        let mut first = Bytes::new();
        let mut rest = BytesMut::new();
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|_| {
                self.progress = Progress::Broken;
                let message = "the body broke off, or is not framed as its head says";
                ApiError::new(ErrorCode::InvalidRequest, message)
            })?;
            let Ok(data) = frame.into_data() else { continue }; // Trailers say nothing here.
            if first.len() + rest.len() + data.len() > limit {
                return Err(too_large(limit));
            }
            if first.is_empty() {
                first = data; // Most bodies arrive in one piece and need no copy.
            } else {
                rest.extend_from_slice(&data);
            }
        }
        self.progress = Progress::Ended;
        if rest.is_empty() {
            return Ok(first);
        }
        let mut whole = BytesMut::with_capacity(first.len() + rest.len());
        whole.extend_from_slice(&first);
        whole.extend_from_slice(&rest);
        Ok(whole.freeze())
    }

    /// Passes over what has arrived of a body that nobody reads, without waiting for more; `true` if
    /// that was all of it, so that the connection can serve the next request.
    pub(crate) async fn skip_arrived(&mut self, headers: &HeaderMap, limit: usize) -> bool {
        // To read would answer `100 Continue`, and so invite a body that nobody wants.
        if headers.contains_key(EXPECT) || !self.is_announced_within(limit) {
            return self.has_ended();
        }
        let mut length = 0;
        while self.progress == Progress::Open && length <= limit {
            match self.arrived_frame().await {
                Some(Some(Ok(frame))) => length += frame.data_ref().map_or(0, Bytes::len),
                Some(Some(Err(_))) => self.progress = Progress::Broken,
                Some(None) => self.progress = Progress::Ended,
                None => break,
            }
        }
        self.has_ended()
    }

    /// The next frame if it is there. hyper gives a frame only after it was asked for, when the
    /// connection is polled next: so what is not there at first is asked for once more.
    async fn arrived_frame(&mut self) -> Option<Option<Result<Frame<Bytes>, B::Error>>> {
        let mut asked = false;
        poll_fn(|cx| match Pin::new(&mut *self.body).poll_frame(cx) {
            Poll::Ready(frame) => Poll::Ready(Some(frame)),
            Poll::Pending if asked => Poll::Ready(None),
            Poll::Pending => {
                asked = true;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        })
        .await
    }

    /// Whether it has been read to its end.
    pub(crate) fn has_ended(&self) -> bool {
        self.progress == Progress::Ended
    }

    fn is_announced_within(&self, limit: usize) -> bool {
        let announced = usize::try_from(self.body.size_hint().lower());
        announced.is_ok_and(|length| length <= limit)
    }
}

fn too_large(limit: usize) -> ApiError {
    let message = format!("a body may have at most {limit} bytes");
    ApiError::new(ErrorCode::BodyTooLarge, message)
}

#[cfg(test)]
mod tests;
