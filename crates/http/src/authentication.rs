//! The check of API keys against the keys in memory, and the task that keeps them fresh.
//!
//! While requests arrive, the task reads the keys at most every half second. The number of requests and the keys that
//! they send do not change this rate.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use petstore_domain::{
    ApiKeySecret, AuthenticationError, Authenticator, Caller, KeyLabel, KeyRing, NamedKey,
    StoreError,
};
use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep_until, timeout},
};

/// The shortest interval between the starts of two reads.
const INTERVAL: Duration = Duration::from_millis(500);
/// The longest time for which a request waits for fresh keys.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// An [`Authenticator`] over a [`KeyRing`]. [`keep_fresh`](Self::keep_fresh) must run beside it. Otherwise every
/// request with a key of the store fails.
#[derive(Debug)]
pub struct KeyRingAuthenticator {
    ring: Arc<KeyRing>,
    refreshes: watch::Sender<Refreshes>,
    /// `true` if a refresh was requested since the last refresh began.
    is_asked: AtomicBool,
    asked: Notify,
}

#[derive(Debug, Default)]
struct Refreshes {
    /// The number of refreshes that have begun.
    begun: u64,
    /// The number of the last refresh that has ended.
    ended: u64,
    /// The start of the last successful refresh.
    read_at: Option<Instant>,
    /// The error of the last refresh, if it failed. Kept, because several requests may have waited for this refresh.
    failure: Option<StoreError>,
}

impl KeyRingAuthenticator {
    /// Creates an authenticator over `ring`. Nothing else may refresh `ring`, because only one refresh may run at a
    /// time.
    #[must_use]
    pub fn new(ring: Arc<KeyRing>) -> Self {
        let refreshes = watch::Sender::new(Refreshes::default());
        Self { ring, refreshes, is_asked: AtomicBool::new(false), asked: Notify::new() }
    }

    /// Reads the keys at most every half second while requests arrive. Never returns: run it in a task of its own.
    pub async fn keep_fresh(&self) -> Infallible {
        loop {
            self.asked.notified().await;
            let began = Instant::now();
            // A request that arrives from here on asks for the next refresh.
            self.is_asked.store(false, Ordering::SeqCst);
            self.refreshes.send_modify(|refreshes| refreshes.begun += 1);
            let outcome = self.ring.refresh().await;
            self.refreshes.send_modify(|refreshes| {
                refreshes.ended = refreshes.begun;
                refreshes.failure = outcome.err();
                if refreshes.failure.is_none() {
                    refreshes.read_at = Some(began);
                }
            });
            sleep_until(began + INTERVAL).await;
        }
    }

    fn ask(&self) {
        // Loads first, because a swap at every request would move the cache line between processors.
        if !self.is_asked.load(Ordering::SeqCst) && !self.is_asked.swap(true, Ordering::SeqCst) {
            self.asked.notify_one();
        }
    }

    fn check(&self, secret: &ApiKeySecret) -> Result<Caller, AuthenticationError> {
        let age = self.refreshes.borrow().read_at.map(|at| at.elapsed());
        self.ring.check(secret, age)
    }

    /// Waits until the keys are fresh or a refresh has ended, for [`MAX_WAIT`] at most.
    async fn wait_until_fresh(&self) -> Result<(), StoreError> {
        let ended = self.refreshes.borrow().ended;
        let is_fresh = |at: Instant| at.elapsed() <= KeyRing::MAX_AGE;
        let fresh = self.wait_for(|now| now.read_at.is_some_and(is_fresh) || now.ended > ended);
        let late = |_| Err(StoreError::unavailable("the API keys could not be read in time"));
        timeout(MAX_WAIT, fresh).await.unwrap_or_else(late)
    }

    /// Asks for a refresh, and waits until `is_over`. Returns the error of the last refresh, if it failed.
    async fn wait_for(&self, is_over: impl FnMut(&Refreshes) -> bool) -> Result<(), StoreError> {
        let mut refreshes = self.refreshes.subscribe();
        self.ask();
        let now = refreshes.wait_for(is_over).await.map_err(StoreError::unavailable)?;
        now.failure.clone().map_or(Ok(()), Err)
    }
}

#[warn(clippy::missing_trait_methods)] // a method with a default body must be written too
#[async_trait]
impl Authenticator for KeyRingAuthenticator {
    async fn authenticate(&self, secret: &ApiKeySecret) -> Result<Caller, AuthenticationError> {
        let outcome = self.check(secret);
        if let Err(AuthenticationError::Store(_)) = outcome {
            self.wait_until_fresh().await?;
            return self.check(secret);
        }
        if outcome.is_ok() || secret.is_well_formed() {
            self.ask();
        }
        outcome
    }

    async fn authenticate_again(
        &self,
        secret: &ApiKeySecret,
    ) -> Result<Caller, AuthenticationError> {
        if !secret.is_well_formed() {
            return Err(AuthenticationError::Refused(None));
        }
        // Waits for a refresh that begins from here on. A refresh that is running may miss a new key.
        let begun = self.refreshes.borrow().begun;
        self.wait_for(|now| now.ended > begun).await?;
        let outcome = self.check(secret);
        if let Err(AuthenticationError::Refused(_)) = &outcome {
            self.ring.note_refusal(secret);
        }
        outcome
    }

    fn key_label(&self, caller: &Caller) -> Option<KeyLabel> {
        self.ring.key_label(caller)
    }

    async fn live_keys(&self) -> Result<usize, StoreError> {
        self.wait_until_fresh().await?;
        Ok(self.ring.live_keys())
    }

    fn named_keys(&self) -> Vec<NamedKey> {
        self.ring.named_keys()
    }
}

#[cfg(test)]
mod tests;
