//! Lists: pages, cursors, and pages that are kept in memory.

mod list;
mod page_cache;
mod walk;
