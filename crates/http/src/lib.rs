//! The raw-hyper HTTP adapter: drives [`PetService`](petstore_domain::PetService) and
//! [`Authenticator`](petstore_domain::Authenticator) from HTTP/1.1 and HTTP/2.
//!
//! ```
//! # use std::sync::Arc;
//! use petstore_domain::{
//!     ManualClock, MockAuthenticator, MockPetService, PetId, PetPage, Timestamp, Versioned, mocks::new_pet,
//! };
//! use petstore_http::{Ports, Request, Server, Settings};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut pets = MockPetService::new();
//! pets.expect_version().return_const(None);
//! pets.expect_list().returning(|_| {
//!     let pets = vec![new_pet("Rex").with_id(PetId(7))];
//!     Ok(Versioned { value: PetPage { pets, more: false }, version: None })
//! });
//! let ports = Ports {
//!     pets: Arc::new(pets),
//!     authenticator: Arc::new(MockAuthenticator::accepting("a secret")),
//!     clock: Arc::new(ManualClock::new(Timestamp(0))),
//! };
//! let server = Server::new(ports, Settings::default());
//!
//! let request = Request::get("/v1/pets").header("host", "petstore");
//! let request = request.header("authorization", "Bearer a secret").body("")?;
//! let response = server.handle(request).await;
//! assert_eq!(response.status(), 200);
//! assert_eq!(response.body(), r#"[{"id":7,"name":"Rex","categoryId":1}]"#);
//! # Ok(())
//! # }
//! ```
//!
//! [`Server::run`] serves such requests over TCP and Unix sockets.
//!
//! # The path of a request
//! 1. `server` accepts connections, and drains them at the end.
//! 2. `connection` detects the version of HTTP and reads requests with hyper or, for HTTP/2, with h2.
//! 3. `answer` turns every request into a response. It cannot fail, and adds the headers that do not depend on the
//!    handler.
//! 4. `route` is the table of addresses: each row lists the checks of its operations.
//! 5. `pipeline` runs the checks that the row lists for a request, and then its handler.
//! 6. `handlers` run the operations.
//! 7. `response` writes the parts of a response: `error` maps failures to statuses and codes, `representation` chooses
//!    the content coding.
//!
//! `request` reads the parts of a request. `settings` holds the operator's settings, and `state` the values that all
//! requests share. `authentication` keeps the API keys in memory fresh, and `rate_limit` bounds the requests of each
//! key. `observe` writes the log and counts metrics.
//!
//! A new operation is a row in `route`, a function in `handlers`, and its codes in `response/error`.

mod answer;
mod authentication;
mod connection;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod handlers;
mod observe;
mod pipeline;
mod rate_limit;
mod request;
mod response;
mod route;
#[cfg(test)]
#[cfg(feature = "schedules")]
mod schedules;
mod server;
mod settings;
mod state;

pub use authentication::KeyRingAuthenticator;
pub use hyper::{Request, Response};
pub use observe::samples::{Sample, SampleKind, SampleSource};
pub use request::forwarded::TrustedProxy;
pub use response::openapi::openapi_document;
pub use server::{DrainOutcome, RevokedKeyCounter, Server, listener::Listener};
pub use settings::{AccessLog, GetPetSunset, Limits, Settings, StaticFile};
pub use state::Ports;
