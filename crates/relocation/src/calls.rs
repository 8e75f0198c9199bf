//! Calls to the store that decides, which are repeated where another one has decided meanwhile.

use std::{pin::Pin, sync::Arc, time::Instant};

use petstore_domain::StoreError;

use crate::{fenced::MayBeFenced, route::Route, side::Side, store::RelocatingStore};

/// What a method of a port returns.
pub(crate) type Call<'s, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 's>>;

impl RelocatingStore {
    /// Writes to the store that decides. What it refuses by its fence has had no effect, and is repeated on the
    /// one that decides then.
    pub(crate) async fn write<T: Send, E: MayBeFenced + Send>(
        &self,
        call: impl for<'s> Fn(&'s Side) -> Call<'s, T, E> + Send + Sync,
    ) -> Result<T, E> {
        let mut refused_since = None;
        loop {
            let route = self.current.get();
            let done = call(&route.side).await;
            if !done.as_ref().is_err_and(MayBeFenced::is_fenced) {
                return done;
            }
            let since = *refused_since.get_or_insert_with(Instant::now);
            if !self.find_decision(&route, since).await {
                return done;
            }
        }
    }

    /// Reads from the store that decides, and again if that store does not decide any more after the read. What
    /// was read, and the route by which.
    pub(crate) async fn read<T: Send>(
        &self,
        call: impl for<'s> Fn(&'s Side) -> Call<'s, T, StoreError> + Send + Sync,
    ) -> Result<(T, Arc<Route>), StoreError> {
        let since = Instant::now();
        loop {
            let route = self.current.get();
            let found = call(&route.side).await?;
            if route.still_decides().await? {
                return Ok((found, route));
            }
            if !self.find_decision(&route, since).await {
                return Err(StoreError::unavailable("no store of the move decides"));
            }
        }
    }
}
