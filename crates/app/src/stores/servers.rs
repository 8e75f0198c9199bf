//! `postgres://…`, a PostgreSQL database, and `etcd://…`, keys under a prefix in an etcd cluster.

use std::{fmt, path::Path, sync::Arc};

use async_trait::async_trait;
use petstore_domain::StoreError;
#[cfg(feature = "etcd")]
use petstore_etcd::{EtcdConfig, EtcdStore};
use petstore_http::Sample;
#[cfg(feature = "postgres")]
use petstore_postgres::{Activity, PostgresConfig, PostgresStore};
use petstore_storage::{Finding, OpenSettings, Upgrade, UpgradeMode};
use tokio_util::sync::CancellationToken;

use crate::stores::{
    BoxError, OnBackupProgress, OpenMode, OpenOptions, OpenStore, StoreDriver, StoreLocation,
    StoreNotFound, background::with_all_ports,
};

/// Defines the location of a store on servers. Both adapters have functions of the same names, but no common trait.
macro_rules! location {
    ($location:ident, $config:ident, $store:ident, $scheme:literal, $backup:literal) => {
        struct $location($config);

        impl $location {
            async fn open_with(&self, settings: OpenSettings) -> Result<$store, BoxError> {
                $store::open(&self.0, settings).await.map_err(|error| {
                    if error.is_missing() {
                        StoreNotFound::new(error).into()
                    } else {
                        StoreError::from(error).into()
                    }
                })
            }
        }

        impl fmt::Display for $location {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        #[async_trait]
        impl StoreLocation for $location {
            async fn open(&self, options: OpenOptions) -> Result<OpenStore, BoxError> {
                let panicked = CancellationToken::new();
                let settings = OpenSettings {
                    create: options.mode == OpenMode::Create,
                    reads_while_sealed: options.reads_while_sealed,
                    on_task_panic: panicked.clone(),
                };
                let store = Arc::new(self.open_with(settings).await?);
                let measure = async |store: Arc<$store>| {
                    store.database_bytes().await.ok().map($location::size).into_iter().collect()
                };
                let mut opened = with_all_ports(&store, panicked, $location::activity, measure);
                if store.was_created() {
                    opened = opened.newly_created(&self.0);
                }
                // Writes the additions that are still queued.
                Ok(opened.with_close(async move {
                    store.close().await;
                }))
            }

            async fn identity(&self) -> Option<String> {
                self.0.identity().await.map(|id| format!("{}:{id}", $scheme))
            }

            async fn upgrade(&self, mode: UpgradeMode) -> Result<Option<Upgrade>, BoxError> {
                Ok($store::upgrade(&self.0, mode).await.map_err(StoreError::from)?)
            }

            async fn inspect(&self) -> Result<Vec<Finding>, BoxError> {
                Ok(self.open_with(OpenSettings::default()).await?.inspect().await?)
            }

            async fn back_up(&self, _: &Path, _: OnBackupProgress) -> Result<(), BoxError> {
                Err($backup.into())
            }
        }
    };
}

/// The driver of `postgres://…`.
#[cfg(feature = "postgres")]
pub(super) const POSTGRES: StoreDriver = StoreDriver {
    schemes: &["postgres", "postgresql"],
    usage: "postgres://USER:PASSWORD@HOST[,HOST]/DATABASE",
    summary: "a PostgreSQL database, for any number of instances",
    is_persistent: true,
    parse: |url| Ok(Arc::new(Database(PostgresConfig::parse(url)?))),
};

#[cfg(feature = "postgres")]
location!(
    Database,
    PostgresConfig,
    PostgresStore,
    "postgres",
    "PostgreSQL makes its own backups: use 'pg_dump --format=custom --file=FILE --dbname=URL', and 'pg_restore \
     --dbname=URL FILE' into an empty database"
);

#[cfg(feature = "postgres")]
impl Database {
    fn activity(store: &PostgresStore) -> Vec<Sample> {
        let Activity { connections, idle, waiting } = store.activity();
        let samples = [
            (
                "petstore_postgres_pool_connections",
                "Connections of the pool that are open or being made.",
                connections,
            ),
            ("petstore_postgres_pool_idle_connections", "Connections that no call uses.", idle),
            ("petstore_postgres_pool_waiting_calls", "Calls that wait for a connection.", waiting),
        ];
        samples.map(|(name, help, number)| Sample::gauge(name, help, number as u64)).into()
    }

    fn size(bytes: u64) -> Sample {
        Sample::gauge("petstore_postgres_database_bytes", "Size of the whole database.", bytes)
    }
}

/// The driver of `etcd://…`.
#[cfg(feature = "etcd")]
pub(super) const ETCD: StoreDriver = StoreDriver {
    schemes: &["etcd"],
    usage: "etcd://HOST[,HOST]/PREFIX",
    summary: "an etcd cluster, which survives the loss of a machine, for any number of instances",
    is_persistent: true,
    parse: |url| Ok(Arc::new(Prefix(EtcdConfig::parse(url)?))),
};

#[cfg(feature = "etcd")]
location!(
    Prefix,
    EtcdConfig,
    EtcdStore,
    "etcd",
    "etcd makes its own backups, of all prefixes together: use 'etcdctl snapshot save FILE --endpoints=HOST:PORT', and \
     'etcdctl snapshot restore FILE' for a new cluster"
);

#[cfg(feature = "etcd")]
impl Prefix {
    fn activity(store: &EtcdStore) -> Vec<Sample> {
        let (help, waiting) = ("Additions that wait for a transaction.", store.waiting_additions());
        vec![Sample::gauge("petstore_etcd_waiting_additions", help, waiting as u64)]
    }

    fn size(bytes: u64) -> Sample {
        let help = "Size of the data of the node that answered, all prefixes together.";
        Sample::gauge("petstore_etcd_database_bytes", help, bytes)
    }
}
