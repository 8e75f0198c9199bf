//! Lists: pages and cursors.

mod walk;
