//! The workloads: what clients do all day, one kind of request at a time.

use anyhow::{Context as _, Result};

use crate::{
    catalogue::animal,
    client::{Client, header},
    request::{Expect, Request},
    walk,
};

/// Different pages in rotation, of the workload `pages`.
const PAGES: usize = 1000;
/// Different animals that are asked for in turn, at most.
const MAX_IDS: u64 = 10_000;
/// Different animals that are added in turn.
const NEW_ANIMALS: u64 = 100;

/// One kind of load.
#[derive(Debug)]
pub(crate) struct Workload {
    /// As it is named on the command line.
    pub(crate) name: &'static str,
    /// In a few words.
    pub(crate) title: &'static str,
    /// `true` if it needs the large catalogue.
    pub(crate) large: bool,
    requests: fn(&mut Source<'_>) -> Result<Vec<Request>>,
}

/// The source of the requests.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    /// Connected to a running service.
    pub(crate) client: &'a mut Client,
    /// Animals in its catalogue.
    pub(crate) animals: u64,
}

const fn workload(
    name: &'static str,
    title: &'static str,
    requests: fn(&mut Source<'_>) -> Result<Vec<Request>>,
) -> Workload {
    Workload { name, title, large: false, requests }
}

/// All of them, in the order in which they are run.
pub(crate) static WORKLOADS: [Workload; 7] = [
    workload("list", "list of 20, always the same page", |_| Ok(vec![hot_list()])),
    workload("pages", "list of 20, 1,000 pages in rotation", pages),
    Workload {
        large: true,
        ..workload("uncached", "filtered list of 20, each page rarely", uncached)
    },
    workload("get", "one animal, by changing identifiers", |source| Ok(get(source))),
    workload("create", "adding an animal", |_| Ok(creates())),
    workload("mixed", "9 lists of 20, then adding 1 animal", |_| Ok(mixed())),
    workload("unchanged", "list that the client has: 304", |source| {
        Ok(vec![unchanged(source.client)?])
    }),
];

impl Workload {
    pub(crate) fn find(name: &str) -> Result<&'static Self> {
        let found = WORKLOADS.iter().find(|workload| workload.name == name);
        found.with_context(|| format!("there is no workload '{name}'"))
    }

    /// Its requests, at least one.
    pub(crate) fn requests(&self, source: &mut Source<'_>) -> Result<Vec<Request>> {
        (self.requests)(source)
    }
}

/// The request of the first page.
pub(crate) fn hot_list() -> Request {
    Request::get("/v1/pets?limit=20", Expect::Page(20))
}

/// Additions of different animals.
pub(crate) fn creates() -> Vec<Request> {
    (0..NEW_ANIMALS).map(|number| Request::create(animal(number))).collect()
}

/// The list of 20, for a client that has it as it is now.
pub(crate) fn unchanged(client: &mut Client) -> Result<Request> {
    let answer = client.ask(&hot_list())?;
    let tag = header(&answer, "etag").context("the list has no ETag")?.to_owned();
    let request = Request { expect: Expect::Unchanged, ..hot_list() };
    Ok(request.with_header("If-None-Match", tag))
}

fn pages(source: &mut Source<'_>) -> Result<Vec<Request>> {
    let mut found = walk::pages(source.client, "")?;
    found.truncate(PAGES);
    Ok(found)
}

/// The pages of two filters. They are asked for one after the other, so a cache that is smaller
/// than all of them together never holds the one asked for.
fn uncached(source: &mut Source<'_>) -> Result<Vec<Request>> {
    let mut found = walk::pages(source.client, "&status=available")?;
    found.extend(walk::pages(source.client, "&status=pending")?);
    fastrand::Rng::with_seed(2).shuffle(&mut found);
    Ok(found)
}

fn get(source: &Source<'_>) -> Vec<Request> {
    let step = (source.animals / MAX_IDS).max(1);
    let ids = (0..source.animals.min(MAX_IDS)).map(|number| 1 + number * step);
    let mut requests: Vec<_> =
        ids.map(|id| Request::get(format!("/v1/pets/{id}"), Expect::Pet)).collect();
    fastrand::Rng::with_seed(1).shuffle(&mut requests);
    requests
}

fn mixed() -> Vec<Request> {
    let ten = |create| (0..9).map(|_| hot_list()).chain([create]);
    creates().into_iter().flat_map(ten).collect()
}
