//! The pages for browsers, and the paths that need no API key.

mod documents;
mod open;
