//! API keys: admission, life, stored form, rate limits, and secrets that must not show.

mod auth_matrix;
mod first_run;
mod life;
mod rates;
mod secrets;
mod stored;
