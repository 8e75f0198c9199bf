//! The raw-hyper HTTP adapter: drives [`PetService`](petstore_domain::PetService) and
//! [`Authenticator`](petstore_domain::Authenticator) from HTTP/1.1 and HTTP/2.
//!
//! # Where things are
//! A request meets these files, in this order:
//!
//! 1. `server` accepts connections, and drains them at the end.
//! 2. `connection` serves one, over any stream: it finds out which version of HTTP it speaks, and
//!    hands the requests that hyper, or for HTTP/2 h2, reads to the next step.
//! 3. `answer` turns every request into a response; it cannot fail.
//! 4. `route` is the table of addresses: a row says what each of its operations needs.
//! 5. `pipeline` is the one checklist that every request goes through, read from the row.
//! 6. `handlers/pets` and `handlers/public` do what an operation does.
//! 7. `response/error` says what each failure is to a client, `response/representation` in which content coding what
//!    has an entity tag is sent. What every answer has is added in one list, in `answer`.
//!
//! Around them: `settings` is what an operator chooses, `state` what every request can see. The files of `request`
//! and of `response` read or write one part of a message each. `authentication` keeps the API keys in memory young,
//! `request/auth` refuses late what has no live key, and `rate_limit` bounds the requests of each key. `observe/log`
//! sees each finished request, `observe/metrics` counts what happens, and `server/metrics_listener` serves that and the
//! `observe/samples` of a store.
//! `handlers/readiness` asks the store at most once a second whether it answers.
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
pub use server::{
    DrainOutcome, RevokedKeyCounter, Server, listener::Listener,
    metrics_listener::MonitoringSources,
};
pub use settings::{AccessLog, GetPetSunset, Limits, Settings, StaticFile};
pub use state::Ports;
