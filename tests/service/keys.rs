//! API keys: admission, life, stored form, rate limits, and secrets that must not show.

mod auth;
mod auth_matrix;
mod corrupt_key;
mod first_run;
mod key_store;
mod life;
mod rates;
mod refusals;
mod secrets;
