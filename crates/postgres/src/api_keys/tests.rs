//! What is noted of a key while it is changed.

use petstore_domain::{
    ApiKeySecret, KeyName, KeyStore as _, NewApiKey, Timestamp, add_key, load_keys,
};
use petstore_testing::{needs, postgres_or_skip};

use super::rows;
use crate::{
    config::PostgresConfig, connection::READ_COMMITTED, connector::Purpose, store::PostgresStore,
};

#[needs(postgres)]
#[tokio::test]
async fn a_use_that_is_noted_during_a_revocation_is_kept() {
    let Some(database) = postgres_or_skip("a_use_that_is_noted_during_a_revocation") else {
        return;
    };
    let store = PostgresStore::connect(&PostgresConfig::parse(&database.url).unwrap()).await;
    let store = store.unwrap();
    let secret = ApiKeySecret::from_entropy(&[1; 32]);
    let new = NewApiKey::new(KeyName::parse("web").unwrap(), &secret, Timestamp(0), None);
    let mut key = add_key(&store, new).await.unwrap();

    let begin = store.pool.begin(Purpose::Calls, READ_COMMITTED);
    let revocation = begin.await.unwrap();
    store.note_uses(vec![(key.id, Timestamp(5))]).await.unwrap();
    key.revoked_at = Some(Timestamp(7));
    rows::write(&revocation, &[key.clone()]).await.unwrap();
    revocation.commit().await.unwrap();
    key.last_used_at = Some(Timestamp(5));
    assert_eq!(load_keys(&store).await.unwrap().keys, [key]);
}
