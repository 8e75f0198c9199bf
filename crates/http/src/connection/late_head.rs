//! A refusal that hyper does not write: that of a head which did not arrive in time.

use http_body_util::BodyExt as _;

use crate::response::Response;

/// `response` as bytes of HTTP/1.1.
pub(super) async fn encode(response: Response) -> Vec<u8> {
    let (head, body) = response.into_parts();
    let mut bytes = format!("HTTP/1.1 {}\r\n", head.status).into_bytes();
    for (name, value) in &head.headers {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            bytes.extend_from_slice(part);
        }
    }
    bytes.extend_from_slice(b"\r\n");
    let Ok(body) = body.collect().await;
    bytes.extend_from_slice(&body.to_bytes());
    bytes
}
