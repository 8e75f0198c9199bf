//! Single steps of a request, for the micro-benchmarks alone: behind the feature `bench`, which no
//! release build has, and no part of this crate's interface.

use std::fmt;

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Method, Request, StatusCode};
use petstore_domain::{CursorPosition, Pet, PetQuery};

use crate::{
    answer::answer, body::RequestBody, cursor, ports::Ports, query, route, settings::Settings,
    state::State, wire,
};

/// The service without a socket.
pub struct InProcess(State);

impl InProcess {
    /// Over `ports`.
    #[must_use]
    pub fn new(ports: Ports, settings: Settings) -> Self {
        Self(State::new(ports, settings))
    }

    /// Answers one request.
    pub async fn answer(&self, request: Request<Full<Bytes>>) -> StatusCode {
        let (head, mut body) = request.into_parts();
        answer(&self.0, &head, &mut RequestBody::new(&mut body)).await.status()
    }
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InProcess").finish_non_exhaustive()
    }
}

/// Writes a page as JSON.
#[must_use]
pub fn encode(pets: &[Pet]) -> Option<Bytes> {
    wire::pets(pets).ok()
}

/// Writes a cursor.
#[must_use]
pub fn encode_cursor(position: CursorPosition) -> String {
    cursor::encode(position)
}

/// Reads a cursor.
#[must_use]
pub fn decode_cursor(text: &str) -> Option<CursorPosition> {
    cursor::decode(text)
}

/// Whether there is an operation of this method at this path.
#[must_use]
pub fn has_operation(method: &Method, path: &str) -> bool {
    route::find(path, &[]).is_some_and(|(route, _)| route.operation(method).is_some())
}

/// Reads the query of a list.
#[must_use]
pub fn parse_query(query: &str) -> Option<PetQuery> {
    query::list_pets(Some(query)).ok()
}
