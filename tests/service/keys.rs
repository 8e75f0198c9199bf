//! API keys: admission, life, and secrets that must not show.

mod auth_matrix;
mod first_run;
mod life;
mod secrets;
