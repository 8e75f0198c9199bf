//! Opens, identifies and upgrades a store.

use std::sync::Arc;

use petstore_storage::{OpenSettings, SchemaError, StoreTasks, Upgrade, UpgradeMode};

use crate::{
    config::EtcdConfig,
    core::{Core, is_absent},
    error::{OpenError, Reason},
    head::{Head, VERSION},
    kv::Txn,
    schema,
    store::EtcdStore,
    writer,
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
        let upgraded = async { schema::upgrade(&connect(config).await?, mode).await };
        upgraded.await.map_err(|reason| OpenError { config: config.clone(), reason })
    }
}

impl EtcdConfig {
    /// Returns a unique name of the store, which does not depend on the hosts in the URL. Returns `None` if there is no
    /// store that can be read.
    pub async fn identity(&self) -> Option<String> {
        let core = connect(self).await.ok()?;
        let identity = schema::find(&core).await.ok()??.head.identity;
        let cluster = core.transact(&Txn::default()).await.ok()?.header.cluster_id;
        Some(format!("{cluster}:{}{identity:032x}", core.keys.prefix))
    }
}

async fn connect(config: &EtcdConfig) -> Result<Core, Reason> {
    let core = Core::new(config)?;
    core.learn_max_ops().await?;
    Ok(core)
}

async fn open(config: &EtcdConfig, settings: OpenSettings) -> Result<EtcdStore, Reason> {
    let core = Arc::new(connect(config).await?);
    let new = Head::new()?;
    if settings.create && schema::find(&core).await?.is_none() {
        schema::place(&core, &new, is_absent(&core.keys.old_head())).await?;
    }
    // A process of another release may have created the store at the same time.
    let head = schema::find(&core).await?.ok_or(Reason::Missing)?.head;
    if head.schema < VERSION {
        return Err(SchemaError::Older { actual: head.schema, known: VERSION }.into());
    }
    let (writing, reading) = (Arc::clone(&core), Arc::clone(&core));
    let tasks = StoreTasks::spawn(
        &settings.on_task_panic,
        Arc::clone(&core.version),
        (core.max_ops().rows(), Some(config.call_timeout)),
        |jobs| writer::run(writing, jobs),
        move || Arc::clone(&reading).stored_version(),
    );
    // Another process may have created the store instead, under another identity.
    let was_created = head.identity == new.identity;
    Ok(EtcdStore { core, tasks, reads_while_sealed: settings.reads_while_sealed, was_created })
}
