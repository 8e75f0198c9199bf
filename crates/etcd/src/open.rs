//! Opens, identifies and upgrades a store.

use petstore_domain::StoreError;
use petstore_storage::{OpenSettings, SchemaError, Upgrade, UpgradeMode};

use crate::{
    client::Client,
    config::EtcdConfig,
    core::{Core, is_absent},
    error::{OpenError, Reason},
    head::{Head, VERSION},
    kv::{Op, Txn},
    rows, schema,
    store::EtcdStore,
};

impl EtcdStore {
    /// Opens the store.
    ///
    /// # Errors
    /// [`OpenError`], also if there is no store and `settings.create` is `false`.
    pub async fn open(config: &EtcdConfig, settings: OpenSettings) -> Result<Self, OpenError> {
        open(config, settings).await.map_err(|reason| OpenError { config: config.clone(), reason })
    }

    /// Upgrades the schema of the store to this release's. Returns `None` if there is no store.
    ///
    /// # Errors
    /// [`OpenError`]. The next upgrade continues an incomplete upgrade.
    pub async fn upgrade(
        config: &EtcdConfig,
        mode: UpgradeMode,
    ) -> Result<Option<Upgrade>, OpenError> {
        let upgraded = async { schema::upgrade(&connect(config, false).await?, mode).await };
        upgraded.await.map_err(|reason| OpenError { config: config.clone(), reason })
    }
}

impl EtcdConfig {
    /// Returns a unique name of the store, which does not depend on the hosts in the URL. Returns `None` if there is no
    /// store, or if no node answers.
    pub async fn identity(&self) -> Option<String> {
        let core = connect(self, false).await.ok()?;
        let identity = schema::find(&core).await.ok()??.head.identity;
        let cluster = core.transact(&Txn::default()).await.ok()?.header.cluster_id;
        Some(format!("{cluster}:{}{identity:032x}", core.keys.prefix))
    }
}

async fn connect(config: &EtcdConfig, reads_while_sealed: bool) -> Result<Core, Reason> {
    let core = Core::new(Client::new(config)?, &config.prefix, reads_while_sealed);
    core.learn_max_ops().await?;
    Ok(core)
}

async fn open(config: &EtcdConfig, settings: OpenSettings) -> Result<EtcdStore, Reason> {
    let core = connect(config, settings.reads_while_sealed).await?;
    let is_missing = settings.create && schema::find(&core).await?.is_none();
    let was_created = is_missing && create(&core).await?;
    // A process of another release may have created the store at the same time.
    let actual = schema::find(&core).await?.ok_or(Reason::Missing)?.head.schema;
    if actual < VERSION {
        return Err(SchemaError::Older { actual, known: VERSION }.into());
    }
    Ok(EtcdStore::new(core, was_created, &settings.on_task_panic))
}

/// Creates the store. Returns `false` if another process created it.
async fn create(core: &Core) -> Result<bool, StoreError> {
    let (head, raw) = (core.keys.head(), rows::json(&Head::new()?));
    let txn = Txn {
        compare: vec![is_absent(&head), is_absent(&core.keys.old_head())],
        success: vec![Op::put(&head, raw.clone()), schema::fence(core)],
        ..Txn::default()
    };
    // The answer to a first try may have been lost.
    let is_there = || core.try_read(&[], core.client.deadline());
    let is_done = core.transact(&txn).await?.succeeded;
    Ok(is_done || is_there().await?.is_some_and(|read| read.entry.value.0 == raw))
}
