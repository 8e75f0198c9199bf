//! Watches what other instances write.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::time;

use super::Board;
use crate::{
    connection::{Connection, Purpose},
    connector::Connector,
    version::{SELECT, Seen},
};

/// How often the database is looked at; less than half of what the port allows.
const LOOK_EVERY: Duration = Duration::from_millis(40);
/// A look that takes longer is of no use, and its connection probably broken.
const PATIENCE: Duration = Duration::from_secs(1);
/// The pause after a look that failed.
const PAUSE: Duration = Duration::from_millis(250);

/// Looks at the catalogue's mark for as long as somebody wants to know it. Never ends by itself.
pub(crate) async fn watch(board: Arc<Board>, connector: Arc<Connector>) {
    let mut eye = None;
    loop {
        if !board.is_wanted() {
            board.interest.notified().await;
        }
        let began = Instant::now();
        eye = look(&board, &connector, eye.take()).await;
        let pause = if eye.is_some() { LOOK_EVERY } else { PAUSE };
        time::sleep(pause.saturating_sub(began.elapsed())).await;
    }
}

/// Looks once. Gives the connection back if it is still good.
async fn look(board: &Board, connector: &Connector, eye: Option<Connection>) -> Option<Connection> {
    let eye = match eye.filter(|eye| !eye.is_closed()) {
        Some(eye) => eye,
        None => connector.connect(Purpose::Calls).await.ok()?,
    };
    let began = Instant::now();
    let rows = time::timeout(PATIENCE, eye.rows(SELECT, &[])).await.ok()?.ok()?;
    // Reads fail for the same cause, and they are who reports it.
    board.show(Seen::of(rows.first()).ok()?, began);
    Some(eye)
}
