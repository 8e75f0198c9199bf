//! The size of one node's data, and the findings of `petstore check`.

use petstore_domain::StoreError;
use petstore_storage::Finding;
use serde_json::{Value, json};

use crate::{head::VERSION, store::EtcdStore};

const MIB: f64 = 1_048_576.0;

impl EtcdStore {
    /// Returns the size in bytes of one node's data, all prefixes together.
    ///
    /// # Errors
    /// [`StoreError`] if no node answers.
    pub async fn database_bytes(&self) -> Result<u64, StoreError> {
        let status = self.status().await?;
        Ok(status["dbSize"].as_str().and_then(|size| size.parse().ok()).unwrap_or_default())
    }

    async fn status(&self) -> Result<Value, StoreError> {
        let (client, path) = (&self.core.client, "/v3/maintenance/status");
        Ok(client.call(path, &json!({}), client.deadline()).await?.0)
    }

    /// Examines the schema of the store, and the etcd version, the space and the alarms of one node. Writes nothing.
    ///
    /// # Errors
    /// [`StoreError`] if no node answers.
    pub async fn inspect(&self) -> Result<Vec<Finding>, StoreError> {
        let client = &self.core.client;
        let read = self.core.read(&[], client.deadline()).await?;
        let schema = match read.head.schema {
            VERSION => Finding::ok("schema", format!("version {VERSION}")),
            newer => Finding::warning("schema", format!("version {newer}, of a newer release")),
        };
        let status = self.status().await?;
        let text = |name: &str| status[name].as_str().unwrap_or_default();
        let alarms = status["errors"].as_array().into_iter().flatten();
        let alarms: Vec<_> = alarms.filter_map(Value::as_str).collect();
        let quota = client.metric("etcd_server_quota_backend_bytes ").await.ok().flatten();
        let mib = |name| text(name).parse::<f64>().unwrap_or_default() / MIB;
        let (size, used) = (mib("dbSize"), mib("dbSizeInUse"));
        let quota = quota.map(|bytes| bytes / MIB);
        let quota_text = quota.map_or("unknown".to_owned(), |quota| format!("{quota:.0} MiB"));
        let space = format!("{used:.1} MiB in use, database {size:.1} MiB, quota {quota_text}");
        let warning = |remedy| Finding::warning("space", format!("{space}: {remedy}"));
        let space = if quota.is_some_and(|quota| used > 0.8 * quota) {
            warning("let etcd compact its history, or raise --quota-backend-bytes")
        } else if size > 2.0 * used + 100.0 {
            warning("run 'etcdctl defrag' on one node after the other")
        } else {
            Finding::ok("space", space)
        };
        Ok(vec![
            schema,
            Finding::ok("server", format!("etcd {}", text("version"))),
            space,
            if alarms.is_empty() {
                Finding::ok("alarms", "none")
            } else {
                Finding::error("alarms", alarms.join(", "))
            },
        ])
    }
}
