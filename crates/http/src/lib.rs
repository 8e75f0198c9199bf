//! The raw-hyper HTTP adapter: drives [`PetService`](petstore_domain::PetService) and
//! [`Authenticator`](petstore_domain::Authenticator) from HTTP/1.1 and HTTP/2.

mod server;
mod settings;

pub use server::{Drained, Ports, Server};
pub use settings::{AccessLog, GetPetSunset, Limits, Settings};
