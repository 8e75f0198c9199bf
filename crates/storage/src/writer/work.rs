//! A boxed write, for adapters with several kinds of writes.

use std::fmt;

use petstore_domain::StoreError;

use super::{Other, Reply};

/// A boxed write on the transaction `X` of an adapter, with the reply to its caller. It keeps its result until the
/// transaction ends. [`Writer::run`](super::Writer::run) takes `|reply| Work::new(work, reply)`.
pub struct Work<X: ?Sized>(Box<dyn Task<X>>);

impl<X: ?Sized + 'static> Work<X> {
    /// Boxes `work`.
    pub fn new<T, E>(
        work: impl FnOnce(&X) -> Result<T, E> + Send + 'static,
        reply: Reply<T, E>,
    ) -> Self
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        Self(Box::new(Parts { work: Some(work), reply, result: None }))
    }

    /// Runs the write. If it returns `false`, the adapter undoes the write and commits the rest of the group.
    pub fn run(&mut self, transaction: &X) -> bool {
        self.0.run(transaction)
    }
}

impl<X: ?Sized + 'static> Other for Work<X> {
    fn is_abandoned(&self) -> bool {
        self.0.is_abandoned()
    }

    fn answer(self, committed: Result<(), StoreError>) {
        self.0.answer(committed);
    }
}

impl<X: ?Sized> fmt::Debug for Work<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work").finish_non_exhaustive()
    }
}

fn never_run() -> StoreError {
    StoreError::unavailable("the write has not run")
}

trait Task<X: ?Sized>: Send {
    fn run(&mut self, transaction: &X) -> bool;
    fn is_abandoned(&self) -> bool;
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Parts<T, E, F> {
    work: Option<F>,
    reply: Reply<T, E>,
    result: Option<Result<T, E>>,
}

impl<X, T, E, F> Task<X> for Parts<T, E, F>
where
    X: ?Sized,
    T: Send,
    E: From<StoreError> + Send,
    F: FnOnce(&X) -> Result<T, E> + Send,
{
    fn run(&mut self, transaction: &X) -> bool {
        self.result = self.work.take().map(|work| work(transaction));
        matches!(self.result, Some(Ok(_)))
    }

    fn is_abandoned(&self) -> bool {
        self.reply.is_abandoned()
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let result = match self.result {
            // A write that has failed keeps its own error, even if the transaction fails too.
            Some(result) => result.and_then(|value| committed.map(|()| value).map_err(E::from)),
            // The transaction failed before the write ran.
            None => Err(committed.err().unwrap_or_else(never_run).into()),
        };
        self.reply.send(result);
    }
}
