//! From a configuration to a store, to what the nodes hold, and back to none.

use petstore_domain::{Phase, Upgrade};

use crate::{
    client::Client,
    config::EtcdConfig,
    core::{Core, is_absent},
    error::{Failure, OpenError, Reason},
    head::{Head, View},
    kv::{Op, Range, RangeAnswer, Txn, TxnAnswer},
    rows,
    store::{EtcdSettings, EtcdStore},
};

impl EtcdStore {
    /// Opens the store, as the settings say.
    ///
    /// # Errors
    /// [`OpenError`], also where there is no store and none is to be created; the message is one line that says what
    /// is wrong and how to fix it.
    pub async fn open(config: &EtcdConfig, settings: EtcdSettings) -> Result<Self, OpenError> {
        let opened = open(config, settings).await;
        opened.map_err(|reason| OpenError::new(config, reason))
    }

    /// Returns what an upgrade of the store does: nothing, as there is one version of its schema. `None` if there is no
    /// store.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn upgrade(config: &EtcdConfig) -> Result<Option<Upgrade>, OpenError> {
        let found = async { find(&core(config)?).await };
        let found = found.await.map_err(|reason| OpenError::new(config, reason))?;
        let upgrade =
            |view: View| Upgrade { from: view.head.schema, steps: Vec::new(), saved_to: None };
        Ok(found.map(upgrade))
    }

    /// Removes every key of a store that holds no animals, API keys or idempotency records and is open. `false` if it
    /// holds any: it is then left untouched.
    ///
    /// # Errors
    /// [`OpenError`]; whether it was removed is then not known.
    pub async fn remove_if_empty(config: &EtcdConfig) -> Result<bool, OpenError> {
        let removed = async { remove_if_empty(&core(config)?).await };
        removed.await.map_err(|reason| OpenError::new(config, reason))
    }
}

impl EtcdConfig {
    /// Returns what the store that this names alone is, whatever names the URL uses for its nodes; `None` if there is
    /// none, or if no node answers.
    pub async fn identity(&self) -> Option<String> {
        let core = core(self).ok()?;
        let view = find(&core).await.ok()??;
        let head = Range::one(&core.keys.head());
        let deadline = core.client.deadline();
        let reply = core.client.call::<RangeAnswer>("/v3/kv/range", &head, deadline).await.ok()?;
        Some(format!(
            "{}:{}{:032x}",
            reply.answer.header.cluster_id, core.keys.prefix, view.head.identity
        ))
    }
}

fn core(config: &EtcdConfig) -> Result<Core, Reason> {
    Ok(Core::new(Client::new(config)?, &config.prefix))
}

async fn open(config: &EtcdConfig, settings: EtcdSettings) -> Result<EtcdStore, Reason> {
    let core = core(config)?;
    if find(&core).await?.is_some() {
        return Ok(EtcdStore::new(core, false, &settings.on_task_panic));
    }
    if !settings.create {
        return Err(Reason::Missing);
    }
    let was_created = create(&core).await?;
    // It may be one that a newer release has made at the same time.
    find(&core).await?.ok_or(Reason::Missing)?;
    Ok(EtcdStore::new(core, was_created, &settings.on_task_panic))
}

/// Reads the head of a store that this release can use; `None` if there is none.
async fn find(core: &Core) -> Result<Option<View>, Reason> {
    let any = Range::after(None, &core.keys.prefix);
    let Some(view) = core.try_read(&[], core.client.deadline()).await? else {
        let found = core.scan(any, 1, 0).await?;
        let foreign = found.first().filter(|entry| entry.key() != core.keys.head());
        return foreign.map_or(Ok(None), |entry| Err(Reason::Foreign(entry.key())));
    };
    view.head.require_known()?;
    Ok(Some(view))
}

/// Makes the store. `false` if another instance has done it.
async fn create(core: &Core) -> Result<bool, Failure> {
    let (head, key) = (Head::new()?, core.keys.head());
    let raw = rows::json(&head);
    let txn = Txn {
        compare: vec![is_absent(&key)],
        success: vec![Op::put(&key, raw.clone())],
        ..Txn::default()
    };
    let deadline = core.client.deadline();
    let reply = core.client.call::<TxnAnswer>("/v3/kv/txn", &txn, deadline).await?;
    // Its answer may have been lost, and it was sent again.
    Ok(reply.answer.succeeded || core.read(&[], deadline).await?.raw == raw)
}

async fn remove_if_empty(core: &Core) -> Result<bool, Reason> {
    let Some(view) = find(core).await? else { return Ok(true) };
    let mut found = core.scan(Range::after(None, &core.keys.prefix), 3, 0).await?;
    found.retain(|entry| entry.key() != core.keys.waiting());
    let is_open = view.head.state().map_err(Failure::from)?.phase == Phase::Open { from: None };
    if found.len() > 1 || !is_open {
        return Ok(false);
    }
    let txn = Txn {
        compare: vec![view.comparison(&core.keys.head())],
        success: vec![Op::delete_all(&core.keys.prefix)],
        ..Txn::default()
    };
    let deadline = core.client.deadline();
    let reply = core.client.call::<TxnAnswer>("/v3/kv/txn", &txn, deadline).await?;
    Ok(reply.answer.succeeded)
}
