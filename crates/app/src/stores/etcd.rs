//! `etcd://…`, keys under a prefix in an etcd cluster.

use std::{
    fmt,
    path::Path,
    sync::{Arc, Weak},
};

use async_trait::async_trait;
use petstore_domain::StoreError;
use petstore_etcd::{EtcdConfig, EtcdSettings, EtcdStore, OpenError};
use petstore_http::Sample;
use petstore_storage::{Finding, Upgrade, UpgradeMode};
use tokio_util::sync::CancellationToken;

use crate::stores::{
    background::in_background,
    driver::{
        BoxError, OnBackupProgress, OpenMode, OpenOptions, OpenStore, StoreDriver, StoreLocation,
        problem,
    },
};

/// The entry of `etcd://…`.
pub(super) const DRIVER: StoreDriver = StoreDriver {
    schemes: &["etcd"],
    usage: "etcd://HOST[,HOST]/PREFIX",
    summary: "an etcd cluster, which survives the loss of a machine, for any number of instances",
    is_persistent: true,
    parse: |url| Ok(Arc::new(Prefix(EtcdConfig::parse(url)?))),
};

struct Prefix(EtcdConfig);

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[async_trait]
impl StoreLocation for Prefix {
    async fn open(&self, options: OpenOptions) -> Result<OpenStore, BoxError> {
        let panicked = CancellationToken::new();
        let settings = EtcdSettings {
            create: options.mode == OpenMode::Create,
            reads_while_sealed: options.reads_while_sealed,
            on_task_panic: panicked.clone(),
        };
        let store = Arc::new(EtcdStore::open(&self.0, settings).await.map_err(not_open)?);
        let (open, measured) = (Arc::downgrade(&store), Arc::downgrade(&store));
        let bytes = in_background(move || {
            let store = measured.upgrade();
            async move { store?.database_bytes().await.ok() }
        });
        let mut opened = OpenStore::new(store.clone())
            .with_archive(store.clone())
            .with_handover(store.clone())
            .with_samples(move || samples(&open, bytes()))
            .with_panic_token(panicked);
        if store.was_created() {
            opened = opened.newly_created(&self.0);
        }
        // Writes the additions that are still queued.
        Ok(opened.with_close(async move {
            store.close().await;
        }))
    }

    async fn identity(&self) -> Option<String> {
        self.0.identity().await.map(|identity| format!("etcd:{identity}"))
    }

    async fn upgrade(&self, mode: UpgradeMode) -> Result<Option<Upgrade>, BoxError> {
        Ok(EtcdStore::upgrade(&self.0, mode).await.map_err(StoreError::from)?)
    }

    async fn inspect(&self) -> Result<Vec<Finding>, BoxError> {
        let store = EtcdStore::open(&self.0, EtcdSettings::default()).await.map_err(not_open)?;
        Ok(store.inspect().await?)
    }

    async fn back_up(&self, _: &Path, _: OnBackupProgress) -> Result<(), BoxError> {
        let message = "etcd makes its own backups, of all prefixes together: use 'etcdctl snapshot save FILE \
                       --endpoints=HOST:PORT', and 'etcdctl snapshot restore FILE' for a new cluster";
        Err(message.into())
    }
}

fn not_open(error: OpenError) -> BoxError {
    let is_missing = error.is_missing();
    problem(error, is_missing)
}

/// Returns the samples of the store; none once it is closed.
fn samples(store: &Weak<EtcdStore>, bytes: Option<u64>) -> Vec<Sample> {
    let Some(store) = store.upgrade() else { return Vec::new() };
    let waiting = store.waiting_additions() as u64;
    let help = "Additions that wait for a transaction.";
    let mut samples = vec![Sample::gauge("petstore_etcd_waiting_additions", help, waiting)];
    let help = "Size of the data of the node that answered, all prefixes together.";
    samples.extend(bytes.map(|bytes| Sample::gauge("petstore_etcd_database_bytes", help, bytes)));
    samples
}

#[cfg(test)]
mod tests {
    use super::DRIVER;

    #[test]
    fn a_prefix_is_shown_without_its_password() {
        let url = "etcd://me:hush@host,other:5433/zoo?call_timeout=3s";
        let shown = (DRIVER.parse)(url).unwrap().to_string();
        assert_eq!(shown, "etcd://me:…@host:2379,other:5433/zoo");
    }

    #[test]
    fn a_url_without_a_prefix_is_refused_without_its_password() {
        let refusal = (DRIVER.parse)("etcd://user:secret@localhost").map(drop).unwrap_err();
        let refusal = refusal.to_string();
        assert!(
            refusal.contains("write etcd://HOST/PREFIX") && !refusal.contains("secret"),
            "{refusal}"
        );
    }
}
