//! Request bodies, with limits of size, time and memory.

use std::{
    future,
    pin::pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use futures_util::pending;
use http_body_util::BodyExt;
use hyper::{HeaderMap, body::Body, header::EXPECT};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use crate::response::error::{ApiError, ErrorCode};

/// The body of one request. Records whether the end of the body was read, which hyper's type does not report for a
/// chunked body.
#[derive(Debug)]
pub(crate) struct RequestBody<'b, B> {
    body: &'b mut B,
    has_ended: bool,
    /// The memory of all request bodies: one permit per byte.
    memory: &'b Semaphore,
    /// The memory of this body.
    held: Option<SemaphorePermit<'b>>,
}

impl<'b, B> RequestBody<'b, B>
where
    B: Body<Data = Bytes> + Unpin,
{
    /// Creates an unread body. On drop, the memory of the body is returned to `memory`.
    pub(crate) fn new(body: &'b mut B, memory: &'b Semaphore) -> Self {
        let has_ended = body.is_end_stream();
        Self { body, has_ended, memory, held: None }
    }

    /// Returns 413 if the announced length is more than `limit` bytes.
    pub(crate) fn require_fitting(&self, limit: usize) -> Result<(), ApiError> {
        if self.is_announced_within(limit) { Ok(()) } else { Err(too_large(limit)) }
    }

    /// Reads the whole body: at most `limit` bytes within `time`.
    ///
    /// # Errors
    /// 413, 408, 400 for a body that breaks off, or 503 if the memory for bodies is used up.
    pub(crate) async fn read(&mut self, limit: usize, time: Duration) -> Result<Bytes, ApiError> {
        timeout(time, pin!(self.collect(limit))).await.unwrap_or_else(|_| {
            let message = format!("the body did not arrive whole within {time:?}");
            Err(ApiError::new(ErrorCode::RequestTimeout, message))
        })
    }

    async fn collect(&mut self, limit: usize) -> Result<Bytes, ApiError> {
        let mut whole = BytesMut::new();
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|_| {
                let message = "the body is incomplete, or does not match the framing in its head";
                ApiError::new(ErrorCode::InvalidRequest, message)
            })?;
            let Ok(data) = frame.into_data() else { continue }; // Trailers are ignored.
            if whole.len() + data.len() > limit {
                return Err(too_large(limit));
            }
            self.hold(data.len())?;
            if whole.is_empty() && self.body.is_end_stream() {
                self.has_ended = true;
                return Ok(data); // Most bodies arrive in one frame and need no copy.
            }
            // Copied, because a small frame may keep a large buffer of the connection alive.
            whole.extend_from_slice(&data);
        }
        self.has_ended = true;
        Ok(whole.freeze())
    }

    /// Takes `bytes` bytes of the memory for bodies. Returns 503 if fewer bytes are left.
    fn hold(&mut self, bytes: usize) -> Result<(), ApiError> {
        let full = || ApiError::unavailable("other requests use up the memory for bodies");
        let bytes = u32::try_from(bytes).map_err(|_| full())?;
        let more = self.memory.try_acquire_many(bytes).map_err(|_| full())?;
        match &mut self.held {
            Some(held) => held.merge(more),
            None => self.held = Some(more),
        }
        Ok(())
    }

    /// Skips the bytes of an unread body that have arrived, without waiting for more. Returns `true` if the body has
    /// ended, so that the connection can serve the next request.
    pub(crate) async fn skip_arrived(&mut self, headers: &HeaderMap, limit: usize) -> bool {
        // A read would send `100 Continue` and so invite the client to send the body.
        if self.has_ended || headers.contains_key(EXPECT) || !self.is_announced_within(limit) {
            return self.has_ended;
        }
        let mut length = 0;
        while !self.has_ended && length <= limit {
            // hyper delivers a frame only after the frame was polled and then the connection was polled.
            tokio::select! {
                biased;
                frame = self.body.frame() => match frame {
                    Some(Ok(frame)) => length += frame.data_ref().map_or(0, Bytes::len),
                    Some(Err(_)) => break,
                    None => self.has_ended = true,
                },
                () = yield_once() => break,
            }
        }
        self.has_ended
    }

    /// Returns whether the end of the body was read.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    fn is_announced_within(&self, limit: usize) -> bool {
        let announced = usize::try_from(self.body.size_hint().lower());
        announced.is_ok_and(|length| length <= limit)
    }
}

/// Lets the task of the connection run once. tokio's `yield_now` is slower: an idle worker asks the system for events
/// before it runs this task again.
pub(crate) async fn yield_once() {
    let wake = |cx: &mut Context<'_>| {
        cx.waker().wake_by_ref();
        Poll::Ready(())
    };
    future::poll_fn(wake).await;
    pending!();
}

fn too_large(limit: usize) -> ApiError {
    let message = format!("a body may have at most {limit} bytes");
    ApiError::new(ErrorCode::BodyTooLarge, message)
}

#[cfg(test)]
mod tests;
