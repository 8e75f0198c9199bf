//! Lists: pages, cursors, and pages that are kept in memory.

mod page_cache;
mod walk;
