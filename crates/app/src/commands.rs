//! The commands, each in a file of its name with its flags and its work. `completions` and `man` are in [`manual`]. The
//! flags of `serve`, `config` and `openapi` are in [`serve`](crate::serve) and [`cli`](crate::cli).

pub(crate) mod backup;
pub(crate) mod check;
pub(crate) mod export;
pub(crate) mod healthcheck;
pub(crate) mod import;
pub(crate) mod keys;
pub(crate) mod manual;
pub(crate) mod records;
#[cfg(feature = "sqlite")]
pub(crate) mod restore;
pub(crate) mod store;
pub(crate) mod upgrade;
