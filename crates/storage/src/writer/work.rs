//! A boxed write, for adapters whose queue carries writes of many kinds.

use std::fmt;

use petstore_domain::StoreError;

use super::{Other, Reply};

/// A write on the transaction `X` of an adapter, boxed with the way back to its caller. It keeps its result until the
/// transaction has ended: [`Writer::run`](super::Writer::run) with `|reply| Work::new(work, reply)`.
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

    /// Runs the write. Returns whether it succeeded: if not, the adapter undoes what this write has done, and commits
    /// the rest of the group.
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
            // A write that failed by itself has its own answer, whatever became of the others.
            Some(result) => result.and_then(|value| committed.map(|()| value).map_err(E::from)),
            // The transaction failed before this write has run.
            None => Err(committed.err().unwrap_or_else(never_run).into()),
        };
        self.reply.send(result);
    }
}
