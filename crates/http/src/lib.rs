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
//! 6. `pets/list`, `pets/create`, `pets/get`, `orders` and `open` are the handlers.
//! 7. `error` says what each failure is to a client, `response` builds what is sent.
//!
//! On its way out every answer passes `compression`, which chooses its form, and `cors`, which says whose
//! pages may read it.
//!
//! Around them: `settings` is what an operator chooses, `state` what every request can see. `log` observes
//! each finished request; `trace` is the trace that it belongs to. `metrics`
//! counts what happens, and `server/metrics_listener` serves that. `peer` is the other end of a connection.
//! `failed_auth` and `rate_limit` bound how many requests come, and `readiness` asks the store at most once a second whether it answers. The other files read or write one part of a message each.
//!
//! A new operation is a row in `route`, a file with its handler, and its codes in `error/code`.

mod accept_encoding;
mod address;
mod answer;
mod auth;
mod body;
mod call;
mod compression;
mod conditional;
mod connection;
mod cors;
mod cursor;
mod deprecation;
mod error;
mod failed_auth;
mod framing;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod idempotency_key;
mod log;
mod media_type;
mod metrics;
mod open;
mod openapi;
mod orders;
mod page;
mod page_cache;
mod peer;
mod pets;
mod pipeline;
mod ports;
mod query;
mod rate_limit;
mod readiness;
mod request_id;
mod response;
mod route;
#[cfg(test)]
#[cfg(feature = "schedules")]
mod schedules;
mod server;
mod settings;
mod state;
mod trace;

pub use deprecation::get_pet_end;
pub use metrics::figure::{Figure, FigureKind, Figures};
pub use openapi::openapi_document;
pub use page::Page;
pub use ports::Ports;
pub use server::{
    Drained, RevokedKeyCounter, Server,
    listener::{Listener, Listeners},
};
pub use settings::{AccessLog, GetPetSunset, Limits, Settings};
