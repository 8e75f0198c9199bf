//! The raw-hyper HTTP adapter: drives [`PetService`](petstore_domain::PetService) and
//! [`Authenticator`](petstore_domain::Authenticator) from HTTP/1.1 and HTTP/2.
//!
//! The way of a request through it is the order in which to read it: `server` accepts,
//! `connection` speaks HTTP, `answer` cannot fail, `judge` decides in the documented order by
//! the table in `route`, `auth` and `body` look at what was sent, `pets` does the work, and
//! `error` says what each failure is to a client.

mod access_log;
mod alarm;
mod answer;
mod auth;
mod body;
mod conditional;
mod connection;
mod cursor;
mod deprecation;
mod error;
mod framing;
mod idempotency_key;
mod judge;
mod kept_pages;
mod media_type;
mod new_pet;
mod open_pages;
mod openapi;
mod page;
mod pets;
mod query;
mod request_id;
mod response;
mod route;
mod server;
mod settings;
mod state;
mod wire;

pub use openapi::openapi_document;
pub use page::Page;
pub use server::{Drained, Ports, Server};
pub use settings::{AccessLog, GetPetSunset, Limits, Settings};
