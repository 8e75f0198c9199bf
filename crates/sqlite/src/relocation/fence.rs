//! The fence: what keeps a writer out of a store that is being moved.
//!
//! **What.** After it has taken the write lock, a writer looks whether the schema of the file has changed
//! since it looked last. Only then it looks for the table of a move, and only if that is there it reads
//! the role of the store.
//!
//! **What it costs** where no move is on: reading one number of the file's header, once in a group.

use petstore_domain::{StoreError, Writer};
use rusqlite::Connection;

use super::rows;
use crate::error::Failure;

const SCHEMA_VERSION: &str = "PRAGMA schema_version";

/// What a connection knows of the schema.
#[derive(Debug, Default)]
pub(crate) struct Fence {
    /// The version of the schema when it was last looked at, and whether it had the table of a move.
    known: Option<(i64, bool)>,
}

impl Fence {
    /// Refuses what a service may not write. The write lock must be held.
    pub(crate) fn check(&mut self, connection: &Connection) -> Result<(), Failure<StoreError>> {
        if self.is_moving(connection)? { permit(connection, Writer::Service) } else { Ok(()) }
    }

    fn is_moving(&mut self, connection: &Connection) -> rusqlite::Result<bool> {
        let version = connection.prepare_cached(SCHEMA_VERSION)?.query_row([], |row| row.get(0))?;
        if let Some((known, is_moving)) = self.known
            && known == version
        {
            return Ok(is_moving);
        }
        let is_moving = rows::exists(connection)?;
        self.known = Some((version, is_moving));
        Ok(is_moving)
    }
}

/// Refuses what `writer` may not write to a store that is being moved.
fn permit(connection: &Connection, writer: Writer) -> Result<(), Failure<StoreError>> {
    rows::role(connection)?.permit(writer).map_err(Failure::Answer)
}

/// Refuses to write the store as a whole: as a service, where a move is on; as its follower, where the
/// store is not the standby of one. The write lock must be held.
pub(crate) fn permit_restore(
    connection: &Connection,
    writer: Writer,
) -> Result<(), Failure<StoreError>> {
    match (rows::exists(connection)?, writer) {
        (false, Writer::Service) => Ok(()),
        (true, Writer::Service) => {
            Err(Failure::Answer(StoreError::sealed("it is being moved; finish the move first")))
        }
        (true, Writer::Follower) => permit(connection, writer),
        (false, Writer::Follower) => Err(Failure::Answer(StoreError::sealed("it is in no move"))),
    }
}
