//! The commands except `serve`, `config` and `openapi`, each in a file of its name with its flags and its work.
//! `completions` and `man` are in [`manual`]. `export` and `import` share the file formats in [`records`].

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
