//! What a request says, each part read strictly: its address, its credential, its other headers, its query and its
//! body; and who sends it.

pub(crate) mod address;
pub(crate) mod auth;
pub(crate) mod body;
pub(crate) mod cursor;
pub(crate) mod framing;
pub(crate) mod headers;
pub(crate) mod peer;
pub(crate) mod query;
