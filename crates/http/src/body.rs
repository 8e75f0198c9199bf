//! Request bodies: read within a limit and a time, or got out of the way.

use std::{pin::pin, time::Duration};

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::{HeaderMap, body::Body, header::EXPECT};

use crate::{
    alarm::Alarm,
    error::{ApiError, ErrorCode},
};

/// How long an unread body may still arrive, so that its connection can serve the next request.
const DISCARD_TIME: Duration = Duration::from_millis(50);

/// Refuses, with 413, a body that is announced to have more than `limit` bytes, before any of it is
/// read.
pub(crate) fn require_fitting<B: Body>(body: &B, limit: usize) -> Result<(), ApiError> {
    let announced = usize::try_from(body.size_hint().lower());
    if announced.is_ok_and(|length| length <= limit) { Ok(()) } else { Err(too_large(limit)) }
}

/// The whole body: at most `limit` bytes, arrived within `time`.
pub(crate) async fn read<B>(
    body: &mut B,
    alarm: &Alarm,
    limit: usize,
    time: Duration,
) -> Result<Bytes, ApiError>
where
    B: Body<Data = Bytes> + Unpin,
{
    alarm.within(time, pin!(collect(body, limit))).await.unwrap_or_else(|| {
        let message = format!("the body did not arrive whole within {time:?}");
        Err(ApiError::new(ErrorCode::RequestTimeout, message))
    })
}

async fn collect<B>(body: &mut B, limit: usize) -> Result<Bytes, ApiError>
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| {
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
    if rest.is_empty() {
        return Ok(first);
    }
    let mut whole = BytesMut::with_capacity(first.len() + rest.len());
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&rest);
    Ok(whole.freeze())
}

/// Gets what is left of a body out of the way, if that is a matter of moments; `true` if the
/// connection is ready for the next request.
pub(crate) async fn discard<B>(
    body: &mut B,
    alarm: &Alarm,
    headers: &HeaderMap,
    limit: usize,
) -> bool
where
    B: Body<Data = Bytes> + Unpin,
{
    if body.is_end_stream() {
        return true;
    }
    // Reading would answer `100 Continue`, and so invite the body that nobody wants.
    if headers.contains_key(EXPECT) || require_fitting(body, limit).is_err() {
        return false;
    }
    let drained = async {
        let mut length = 0;
        while let Some(Ok(frame)) = body.frame().await {
            length += frame.data_ref().map_or(0, Bytes::len);
            if length > limit {
                return false;
            }
        }
        body.is_end_stream()
    };
    alarm.within(DISCARD_TIME, pin!(drained)).await.unwrap_or(false)
}

fn too_large(limit: usize) -> ApiError {
    let message = format!("a body may have at most {limit} bytes");
    ApiError::new(ErrorCode::BodyTooLarge, message)
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        pin::Pin,
        task::{Context, Poll},
        time::Duration,
    };

    use bytes::Bytes;
    use http_body_util::Full;
    use hyper::{
        HeaderMap,
        body::{Body, Frame, SizeHint},
        header::{EXPECT, HeaderValue},
    };

    use super::{discard, read, require_fitting};
    use crate::{alarm::Alarm, error::ErrorCode};

    const SOON: Duration = Duration::from_millis(20);

    /// Yields its pieces, then ends or, with `stuck`, never does.
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

    #[tokio::test]
    async fn a_body_is_read_up_to_its_limit_however_it_is_cut() {
        let alarm = Alarm::default();
        for cut in [&["abcde"][..], &["ab", "cde"], &["a", "", "bcd", "e"]] {
            assert_eq!(read(&mut pieces(cut, false), &alarm, 5, SOON).await.unwrap(), "abcde");
            let refusal = read(&mut pieces(cut, false), &alarm, 4, SOON).await.unwrap_err();
            assert_eq!(refusal.code, ErrorCode::BodyTooLarge);
        }
        assert_eq!(read(&mut Full::<Bytes>::default(), &alarm, 0, SOON).await.unwrap(), "");
    }

    #[tokio::test]
    async fn a_body_that_stops_is_given_up() {
        let alarm = Alarm::default();
        let refusal = read(&mut pieces(&["a"], true), &alarm, 5, SOON).await.unwrap_err();
        assert_eq!(refusal.code, ErrorCode::RequestTimeout);
    }

    #[test]
    fn an_announced_length_is_judged_unread() {
        for (length, fits) in [(0, true), (5, true), (6, false), (u64::MAX, false)] {
            let body = Pieces { announced: length, ..pieces(&[], false) };
            assert_eq!(require_fitting(&body, 5).is_ok(), fits, "{length}");
        }
    }

    #[tokio::test]
    async fn an_unread_body_is_discarded_only_if_that_is_quick_and_small() {
        let alarm = Alarm::default();
        let none = HeaderMap::new();
        let expecting = HeaderMap::from_iter([(EXPECT, HeaderValue::from_static("100-continue"))]);
        let announced = || Pieces { announced: 6, ..pieces(&["ab"], false) };
        // There is nothing to read.
        assert!(discard(&mut pieces(&[], false), &alarm, &expecting, 5).await);
        assert!(discard(&mut pieces(&["ab", "cde"], false), &alarm, &none, 5).await);
        assert!(!discard(&mut pieces(&["ab", "cdef"], false), &alarm, &none, 5).await);
        assert!(!discard(&mut pieces(&["ab"], true), &alarm, &none, 5).await);
        assert!(!discard(&mut pieces(&["ab"], false), &alarm, &expecting, 5).await);
        assert!(!discard(&mut announced(), &alarm, &none, 5).await);
    }
}
