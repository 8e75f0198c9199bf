//! Writes other than additions.

use petstore_domain::StoreError;
use petstore_storage::writer::{self, Reply};
use rusqlite::Connection;

use crate::error::Failure;

/// A write other than an addition. It changes no animals: their version would stay.
pub(super) struct Other(Box<dyn Work>);

trait Work: Send {
    fn run(&mut self, connection: &Connection) -> Result<(), Failure<StoreError>>;
    fn is_abandoned(&self) -> bool;
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

impl Other {
    /// Makes one of `work`, whose result goes to `reply`.
    pub(super) fn new<T: Send + 'static>(
        work: impl FnMut(&Connection) -> Result<T, Failure<StoreError>> + Send + 'static,
        reply: Reply<T, StoreError>,
    ) -> Self {
        Self(Box::new(Call { work, result: None, reply }))
    }

    /// Runs it, and keeps its result.
    pub(super) fn run(&mut self, connection: &Connection) -> Result<(), Failure<StoreError>> {
        self.0.run(connection)
    }
}

impl writer::Other for Other {
    fn is_abandoned(&self) -> bool {
        self.0.is_abandoned()
    }

    fn answer(self, committed: Result<(), StoreError>) {
        self.0.answer(committed);
    }
}

struct Call<F, T> {
    work: F,
    result: Option<T>,
    reply: Reply<T, StoreError>,
}

impl<F, T: Send> Work for Call<F, T>
where
    F: FnMut(&Connection) -> Result<T, Failure<StoreError>> + Send,
{
    fn run(&mut self, connection: &Connection) -> Result<(), Failure<StoreError>> {
        self.result = Some((self.work)(connection)?);
        Ok(())
    }

    fn is_abandoned(&self) -> bool {
        self.reply.is_abandoned()
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let Self { result, reply, .. } = *self;
        // A write without a result has not run, and is answered as one that the writer has not done.
        if let Some(answer) = committed.map(|()| result).transpose() {
            reply.send(answer);
        }
    }
}
