//! What fits into a transaction, and what waits.

use std::time::Duration;

use petstore_domain::{
    Added, CategoryId, IdempotencyId, IdempotencyRequest, NewPet, PetId, PetName, PetStatus,
    Timestamp,
};
use tokio::{sync::oneshot, time::Instant};

use super::group::{Job, Outcome, plan};
use crate::{
    core::{HEAD_OPS, MAX_OPS, Plan},
    error::Failure,
    head::{Head, View},
    kv::KeyValue,
    rows::{self, Expiry, Keys, Puts},
};

fn pet(status: Option<PetStatus>) -> NewPet {
    NewPet { name: PetName::parse("Rex").unwrap(), category_id: CategoryId(1), status }
}

fn job(pet: NewPet, key: Option<u8>) -> Job {
    let request =
        key.map(|key| IdempotencyRequest::new(IdempotencyId([key; 16]), &pet, Timestamp(9)));
    let deadline = Instant::now() + Duration::from_secs(1);
    Job { pet, request, deadline, caller: oneshot::channel().0 }
}

/// The outcomes, with what is put beside the head.
fn planned(jobs: &[Job], head: Head, found: Vec<Vec<KeyValue>>) -> (Vec<Outcome>, Puts, i64) {
    let view = View { head, raw: Vec::new(), writes: 1, changed: 1, revision: 1, found };
    let keys = Keys { prefix: "zoo/".to_owned() };
    match plan(&keys, jobs.iter(), &view, 5).unwrap() {
        Plan::Write(head, puts, deletes, outcomes) => {
            assert!(deletes.is_empty());
            (outcomes, puts, head.last_pet)
        }
        Plan::Done(outcomes) => (outcomes, Puts::new(), view.head.last_pet),
    }
}

#[test]
fn a_group_is_as_large_as_a_transaction_may_be() {
    let count = u8::try_from(MAX_OPS).unwrap();
    for (status, with_key, least) in
        [(None, false, 122), (Some(PetStatus::Sold), false, 61), (Some(PetStatus::Sold), true, 41)]
    {
        let jobs: Vec<_> = (0..count).map(|n| job(pet(status), with_key.then_some(n))).collect();
        let (outcomes, puts, last) = planned(&jobs, Head::new().unwrap(), Vec::new());
        assert!(puts.len() + HEAD_OPS <= MAX_OPS && outcomes.len() >= least, "{}", outcomes.len());
        assert_eq!(outcomes.len(), usize::try_from(last).unwrap());
    }
}

#[test]
fn of_one_key_in_a_group_the_second_is_a_repeat_or_refused() {
    let jobs = [
        job(pet(None), Some(1)),
        job(pet(None), Some(1)),
        job(pet(Some(PetStatus::Sold)), Some(1)),
    ];
    let (outcomes, puts, _) = planned(&jobs, Head::new().unwrap(), Vec::new());
    let [
        Outcome::Added(Added::Created(created)),
        Outcome::Added(Added::Replayed(again)),
        Outcome::Reused,
    ] = &outcomes[..]
    else {
        panic!("{outcomes:?}");
    };
    assert_eq!(created, again);
    assert_eq!(puts.len(), 3, "an animal, its record, and when that expires");
}

#[test]
fn a_second_write_under_one_key_is_for_the_next_transaction() {
    // The clock of its instance is two days ahead.
    let mut late = job(pet(None), Some(1));
    let later = Timestamp(2 * 86_400_000);
    late.request = Some(IdempotencyRequest::new(IdempotencyId([1; 16]), &late.pet, later));
    let (outcomes, _, last) = planned(
        &[job(pet(None), Some(1)), late, job(pet(None), None)],
        Head::new().unwrap(),
        Vec::new(),
    );
    assert_eq!((outcomes.len(), last), (1, 1));
}

#[test]
fn a_corrupt_record_and_a_missing_identifier_cost_their_own_addition_alone() {
    let broken = KeyValue {
        key: (&*Keys { prefix: "zoo/".to_owned() }.record(&IdempotencyId([1; 16]))).into(),
        value: "[]".into(),
        ..KeyValue::default()
    };
    let mut head = Head::new().unwrap();
    head.last_pet = i64::MAX - 1;
    let jobs = [job(pet(None), Some(1)), job(pet(None), None), job(pet(None), None)];
    let (outcomes, ..) = planned(&jobs, head, vec![vec![broken]]);
    let [
        Outcome::Failed(Failure::Corrupt(_)),
        Outcome::Added(_),
        Outcome::Failed(Failure::NoIdentifier),
    ] = &outcomes[..]
    else {
        panic!("{outcomes:?}");
    };
}

#[test]
fn a_stored_record_is_replayed_without_a_write() {
    let again = job(pet(None), Some(1));
    let record = again.request.unwrap().into_record(PetId(4));
    let mut puts = Puts::new();
    let keys = Keys { prefix: "zoo/".to_owned() };
    rows::put_record(&mut puts, &keys, &mut Expiry::new(), &record);
    let (key, value) = puts.pop_first().unwrap();
    let entry =
        KeyValue { key: (&*key).into(), value: crate::kv::Bytes(value), ..KeyValue::default() };
    let (outcomes, puts, _) = planned(&[again], Head::new().unwrap(), vec![vec![entry]]);
    assert!(matches!(outcomes[..], [Outcome::Replay(PetId(4))]) && puts.is_empty());
}
