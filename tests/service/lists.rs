//! Lists: pages, cursors, and the page cache.

mod page_cache;
mod walk;
