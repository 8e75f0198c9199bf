//! The queue, groups, deadlines and answers, over a store that is a list of names.

use std::{
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
    time::Duration,
};

use petstore_domain::{AddError, Added, CategoryId, NewPet, PetId, PetName, StoreError};
use tokio::{
    runtime::Builder,
    sync::oneshot,
    time::{Instant, timeout},
};

use super::{Add, Answers, Job, Jobs, MAX_QUEUE, Reply, channel};

const TIMEOUT: Duration = Duration::from_secs(5);

fn pet(name: &str) -> NewPet {
    NewPet { name: PetName::parse(name).unwrap(), category_id: CategoryId(1), status: None }
}

/// Polls a call once, which queues its job.
fn begin<F: Future>(call: F) -> Pin<Box<F>> {
    let mut call = Box::pin(call);
    assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    call
}

/// Returns the group of queued jobs. Fails if it would wait for a job.
fn next<W>(jobs: &mut Jobs<W>, held: usize) -> Vec<Job<W>> {
    let next = pin!(jobs.next(held));
    let Poll::Ready(group) = next.poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("no job is ready")
    };
    group.unwrap()
}

#[test]
fn a_job_is_abandoned_when_its_caller_has_left_or_its_deadline_is_over() {
    let now = Instant::now();
    for (waits, deadline, is_abandoned) in [
        (true, None, false),
        (true, Some(now + TIMEOUT), false),
        (true, Some(now), true),
        (false, None, true),
        (false, Some(now + TIMEOUT), true),
    ] {
        let (caller, waiting) = oneshot::channel::<Result<(), StoreError>>();
        let _waiting = waits.then_some(waiting);
        let reply = Reply { caller, deadline };
        assert_eq!(reply.is_abandoned(), is_abandoned, "{waits} {deadline:?}");
    }
}

/// Renames every animal, and returns their number.
#[derive(Debug)]
struct Rename {
    to: &'static str,
    reply: Reply<usize, StoreError>,
}

/// Commits a group. The additions are answered later, by the returned answers.
fn commit(rows: &mut Vec<String>, group: Vec<Job<Rename>>) -> Answers {
    let mut answers = Answers::default();
    for job in group {
        match job {
            Job::Add(Add { pet, reply, .. }) => {
                rows.push(pet.name.as_str().to_owned());
                let id = PetId(i64::try_from(rows.len()).unwrap());
                answers.add(reply, Ok(Added::Created(pet.with_id(id))));
            }
            Job::Other(rename) => {
                rows.fill(rename.to.to_owned());
                rename.reply.send(Ok(rows.len()));
            }
        }
    }
    answers
}

/// Writes until the queue ends. Returns the rows and the size of each group.
async fn write(mut jobs: Jobs<Rename>) -> (Vec<String>, Vec<usize>) {
    let (mut rows, mut groups) = (Vec::new(), Vec::new());
    while let Some(group) = jobs.next(0).await {
        groups.push(group.len());
        commit(&mut rows, group).send();
    }
    (rows, groups)
}

fn id(added: Result<Added, AddError>) -> i64 {
    let Ok(Added::Created(pet)) = added else { panic!("{added:?}") };
    pet.id.0
}

#[tokio::test]
async fn queued_jobs_share_groups_and_are_answered_in_order() {
    let (writer, jobs) = channel::<Rename>(2, Some(TIMEOUT));
    let [one, two, three] = ["a", "b", "c"].map(|name| begin(writer.add(pet(name), None)));
    let renamed = begin(writer.run(|reply| Rename { to: "z", reply }));
    let ((), (rows, groups)) = tokio::join!(writer.close(), write(jobs));
    assert_eq!((rows, groups), (vec!["z".to_owned(); 3], vec![2, 2]));
    assert_eq!([id(one.await), id(two.await), id(three.await)], [1, 2, 3]);
    assert_eq!(renamed.await.unwrap(), 3);
}

#[tokio::test]
async fn the_queue_is_bounded() {
    let (writer, mut jobs) = channel::<Rename>(8, Some(TIMEOUT));
    let waiting: Vec<_> = (0..MAX_QUEUE).map(|_| begin(writer.add(pet("a"), None))).collect();
    assert_eq!(writer.waiting(), waiting.len());
    let refused = writer.add(pet("a"), None).await.unwrap_err();
    let expected = "the store cannot answer: the writer's queue is full (4096 writes wait)";
    assert_eq!(refused.to_string(), expected);
    assert_eq!(next(&mut jobs, 0).len(), 8);
    assert_eq!(writer.waiting(), MAX_QUEUE - 8);
}

#[tokio::test]
async fn held_jobs_take_room_in_a_group() {
    let (writer, mut jobs) = channel::<Rename>(3, Some(TIMEOUT));
    let _additions: Vec<_> = (0..5).map(|_| begin(writer.add(pet("a"), None))).collect();
    let mut sizes = Vec::new();
    for held in [2, 3, 0, 1, 1] {
        sizes.push(next(&mut jobs, held).len());
    }
    assert_eq!(sizes, [1, 0, 3, 1, 0], "with held jobs, `next` does not wait");
}

#[tokio::test]
async fn a_group_that_was_waited_for_has_no_more_jobs() {
    let (writer, mut jobs) = channel::<Rename>(2, Some(TIMEOUT));
    let group = timeout(TIMEOUT, jobs.next(0));
    let (group, _) =
        tokio::join!(group, async { [(); 3].map(|()| begin(writer.add(pet("a"), None))) });
    assert_eq!(group.unwrap().unwrap().len(), 2);
}

#[tokio::test]
async fn an_abandoned_job_is_left_out() {
    let (writer, mut jobs) = channel::<Rename>(8, Some(Duration::from_millis(20)));
    let late = begin(writer.add(pet("late"), None));
    let expired = late.await.unwrap_err().to_string();
    assert_eq!(expired, "the store cannot answer: no answer within 20ms");
    assert!(jobs.ready(0).is_empty());
    let (writer, mut jobs) = channel::<Rename>(8, Some(TIMEOUT));
    let [dropped, _waits] = ["dropped", "waits"].map(|name| begin(writer.add(pet(name), None)));
    drop(dropped);
    let group = next(&mut jobs, 0);
    let [Job::Add(add)] = &group[..] else { panic!("{}", group.len()) };
    assert_eq!(add.pet.name.as_str(), "waits");
    let mut empty = begin(jobs.next(0));
    drop(begin(writer.add(pet("dropped"), None)));
    let polled = empty.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_pending(), "the group is empty");
}

#[tokio::test]
async fn closing_finishes_queued_jobs_and_refuses_new_ones() {
    let (writer, jobs) = channel::<Rename>(MAX_QUEUE, Some(TIMEOUT));
    // The mark of the end waits for room in a full queue.
    let waiting: Vec<_> = (0..MAX_QUEUE).map(|_| begin(writer.add(pet("a"), None))).collect();
    let closing = async { tokio::join!(writer.close(), write(jobs)).1 };
    let (rows, _) = timeout(TIMEOUT, closing).await.expect("the mark was lost");
    assert_eq!(rows.len(), MAX_QUEUE);
    for answer in waiting {
        answer.await.unwrap();
    }
    let refused = writer.add(pet("b"), None).await.unwrap_err();
    assert_eq!(refused.to_string(), "the store cannot answer: the writer has stopped");
    writer.close().await;
}

#[test]
fn answers_are_sent_even_if_the_runtime_is_gone() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let (writer, mut jobs) = channel::<Rename>(8, None);
    let additions = ["a", "b"].map(|name| begin(writer.add(pet(name), None)));
    let group = next(&mut jobs, 0);
    let handle = runtime.handle().clone();
    drop(runtime);
    commit(&mut Vec::new(), group).send_on(&handle);
    let mut context = Context::from_waker(Waker::noop());
    for mut addition in additions {
        assert!(matches!(addition.as_mut().poll(&mut context), Poll::Ready(Ok(_))));
    }
}
