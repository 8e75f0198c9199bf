//! Decisions on the additions of one transaction, and the largest transaction.

use std::time::Duration;

use petstore_domain::{
    AddError, Added, CategoryId, IdempotencyId, IdempotencyRequest, NewPet, PetId, PetName,
    StoreError, Timestamp,
};
use petstore_storage::writer::{Add, Job, Jobs, channel};

use super::{Outcome, plan};
use crate::{
    draft::{Changes, Draft},
    head::{Head, HeadRead},
    kv::{KeyValue, Op},
    limits::MaxOps,
    rows::Keys,
};

fn keys() -> Keys {
    Keys { prefix: "zoo/".to_owned() }
}

fn pet() -> NewPet {
    NewPet { name: PetName::parse("Rex").unwrap(), category_id: CategoryId(1), status: None }
}

fn id(key: u16) -> IdempotencyId {
    IdempotencyId(u128::from(key).to_be_bytes())
}

fn request(key: u16, pet: &NewPet, at: i64) -> IdempotencyRequest {
    IdempotencyRequest::new(id(key), pet, Timestamp(at))
}

/// Returns additions as the writing task gets them. Their callers wait as long as the returned tasks run.
async fn adds(
    requests: impl IntoIterator<Item = (NewPet, Option<IdempotencyRequest>)>,
) -> (Vec<Add>, Vec<tokio::task::JoinHandle<()>>) {
    let (writer, mut jobs): (_, Jobs) =
        channel(MaxOps::DEFAULT.rows(), Some(Duration::from_mins(1)));
    let (writer, mut tasks) = (std::sync::Arc::new(writer), Vec::new());
    for (pet, request) in requests {
        let writer = std::sync::Arc::clone(&writer);
        tasks.push(tokio::spawn(async move { drop(writer.add(pet, request).await) }));
        tokio::task::yield_now().await;
    }
    let mut adds = Vec::new();
    while adds.len() < tasks.len() {
        adds.extend(jobs.next(adds.len()).await.unwrap().into_iter().map(|Job::Add(add)| add));
        tokio::task::yield_now().await;
    }
    (adds, tasks)
}

fn read(head: Head, found: Vec<KeyValue>) -> HeadRead {
    HeadRead { head, entry: KeyValue::default(), revision: 1, found }
}

/// Returns the outcomes, the changes beside the head, and the highest identifier.
fn planned(adds: &[Add], read: &HeadRead) -> (Vec<Outcome>, Changes, i64) {
    let keys = keys();
    let mut draft = Draft::new(&keys, read);
    let outcomes = plan(adds, &mut draft).unwrap();
    let drafted = draft.finish(5);
    let (head, changes) = drafted.unwrap_or_else(|| (read.head.clone(), Changes::new()));
    (outcomes, changes, head.last_pet)
}

/// Returns how many operations etcd counts in a transaction with `ops` and `others` further operations.
fn counted(ops: &[Op], others: usize) -> usize {
    let nested = ops.iter().map(|op| match op {
        Op::Txn(txn) => counted(&txn.success, 0),
        Op::Range(_) | Op::Put { .. } | Op::Delete { .. } => 0,
    });
    ops.len() + others + nested.max().unwrap_or_default()
}

#[test]
fn as_many_entries_as_a_transaction_holds_are_nested() {
    for max in [16, 17, 20, 31, 32, 63, 64, 65, 128].map(MaxOps) {
        let ops: Vec<_> = (0..max.entries()).map(|n| Op::put(&n.to_string(), vec![])).collect();
        let nested = max.nested(&ops);
        assert!(counted(&nested, 2) <= max.0, "{max:?}");
        let puts = serde_json::to_string(&nested).unwrap().matches("request_put").count();
        assert_eq!(puts, ops.len(), "{max:?}");
        let few = max.nested(&ops[..max.comparisons()]);
        let count = counted(&few, 2).max(1 + max.comparisons());
        assert!(few.len() == max.comparisons() && count <= max.0, "{max:?}");
    }
}

#[tokio::test]
async fn a_second_record_with_the_same_key_replaces_the_first_in_the_same_transaction() {
    // The second request comes from an instance whose clock is two days ahead.
    let both = [9, 2 * 86_400_000].map(|at| (pet(), Some(request(1, &pet(), at))));
    let (adds, _callers) = adds(both.clone()).await;
    let (outcomes, changes, _) = planned(&adds, &read(Head::new().unwrap(), Vec::new()));
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Ok(Added::Created(_)))));
    for (pet, is_put) in [(1, false), (2, true)] {
        let position = request(1, &both[0].0, 9).into_record(PetId(pet)).position();
        assert_eq!(changes[&keys().recorded(position)].is_some(), is_put);
    }
}

#[tokio::test]
async fn a_corrupt_record_or_the_lack_of_a_free_identifier_fails_one_addition_alone() {
    let broken = KeyValue::new(&keys().record(&id(1)), b"[]".to_vec());
    let mut head = Head::new().unwrap();
    head.last_pet = i64::MAX - 1;
    let rex = pet();
    let requests =
        [(rex.clone(), Some(request(1, &rex, 9))), (rex.clone(), None), (rex.clone(), None)];
    let (adds, _callers) = adds(requests).await;
    let (outcomes, ..) = planned(&adds, &read(head, vec![broken]));
    let [
        Err(AddError::Store(StoreError::Corrupt(_))),
        Ok(Added::Created(_)),
        Err(AddError::Store(StoreError::Refused(_))),
    ] = &outcomes[..]
    else {
        panic!("{outcomes:?}");
    };
}
