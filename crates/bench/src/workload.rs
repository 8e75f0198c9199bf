//! The workloads: the requests of clients, one kind at a time.

use anyhow::{Context as _, Result};

use crate::{
    catalogue::animal,
    client::{Client, header},
    request::{Expect, KEY_HEADER, KEY_MARK, Request},
    walk,
};

/// The number of different pages in the workload `pages`.
const PAGES: usize = 1000;
/// The largest number of different animals in the workload `get`: more than the page cache can hold.
const MAX_IDS: u64 = 100_000;
/// The number of different animals in the workload `hits`. All of them are cached.
const CACHED_IDS: u64 = 20;
/// The number of different animals that are added in turn.
const NEW_ANIMALS: u64 = 100;

/// One kind of load.
#[derive(Debug)]
pub(crate) struct Workload {
    /// The name on the command line.
    pub(crate) name: &'static str,
    /// The description in a report.
    pub(crate) title: &'static str,
    /// `true` to use the large catalogue.
    pub(crate) large: bool,
    /// Further flags of `serve`.
    pub(crate) settings: &'static [&'static str],
    /// `true` to send the only request over HTTP/2.
    pub(crate) http2: bool,
    /// The number of idempotency records in the store before the measurement.
    pub(crate) records: u64,
    requests: fn(&mut Source<'_>) -> Result<Vec<Request>>,
}

/// The running service. Some workloads need its links, its tags or its number of animals to make their requests.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    /// A client of the service.
    pub(crate) client: &'a mut Client,
    /// The number of animals in the service's catalogue.
    pub(crate) animals: u64,
}

const fn workload(
    name: &'static str,
    title: &'static str,
    requests: fn(&mut Source<'_>) -> Result<Vec<Request>>,
) -> Workload {
    Workload { name, title, large: false, settings: &[], http2: false, records: 0, requests }
}

/// All workloads, in the order in which they run.
pub(crate) static WORKLOADS: [Workload; 13] = [
    workload("list", "list of 20, always the same page", |_| Ok(vec![hot_list()])),
    workload("pages", "list of 20, 1,000 pages in rotation", pages),
    Workload {
        large: true,
        settings: &["--page-cache", "0"],
        ..workload("uncached", "filtered list of 20, without the page cache", uncached)
    },
    Workload {
        large: true,
        ..workload("get", "one animal, mostly not cached", |source| Ok(get(source, MAX_IDS)))
    },
    workload("hits", "one animal, always cached", |source| Ok(get(source, CACHED_IDS))),
    workload("create", "adding an animal", |_| Ok(creates())),
    workload("keyed", "adding an animal with a key", |_| Ok(keyed())),
    Workload {
        records: 1_000_000,
        ..workload("million", "adding with a key, beside a million keys", |_| Ok(keyed()))
    },
    workload("mixed", "9 lists of 20, then adding 1 animal", |_| Ok(mixed())),
    workload("unchanged", "list that the client has: 304", |source| {
        Ok(vec![unchanged(source.client)?])
    }),
    workload("gzip", "list of 20, compressed", |_| {
        let request = Request { expect: Expect::Compressed, ..hot_list() };
        Ok(vec![request.with_header("Accept-Encoding", "gzip".to_owned())])
    }),
    Workload {
        settings: &["--metrics-listen", "127.0.0.1:0"],
        ..workload("metrics", "list of 20, with metrics", |_| Ok(vec![hot_list()]))
    },
    Workload {
        http2: true,
        ..workload("http2", "list of 20, over HTTP/2", |_| Ok(vec![hot_list()]))
    },
];

impl Workload {
    pub(crate) fn find(name: &str) -> Result<&'static Self> {
        let found = WORKLOADS.iter().find(|workload| workload.name == name);
        found.with_context(|| format!("there is no workload '{name}'"))
    }

    /// Returns the requests, at least one.
    pub(crate) fn requests(&self, source: &mut Source<'_>) -> Result<Vec<Request>> {
        (self.requests)(source)
    }
}

/// Returns the request for the first page.
pub(crate) fn hot_list() -> Request {
    Request::get("/v1/pets?limit=20", Expect::Page(20))
}

/// Returns additions of different animals.
pub(crate) fn creates() -> Vec<Request> {
    (0..NEW_ANIMALS).map(|number| Request::create(animal(number))).collect()
}

/// Returns additions of different animals, each with an idempotency key of its own.
fn keyed() -> Vec<Request> {
    let key = || KEY_MARK.to_owned();
    creates().into_iter().map(|request| request.with_header(KEY_HEADER, key())).collect()
}

/// Returns the request for the first page with its current `ETag`.
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

/// Returns requests for the pages of two filters, shuffled.
fn uncached(source: &mut Source<'_>) -> Result<Vec<Request>> {
    let mut found = walk::pages(source.client, "&status=available")?;
    found.extend(walk::pages(source.client, "&status=pending")?);
    fastrand::Rng::with_seed(2).shuffle(&mut found);
    Ok(found)
}

fn get(source: &Source<'_>, ids: u64) -> Vec<Request> {
    let step = (source.animals / ids).max(1);
    let ids = (0..source.animals.min(ids)).map(|number| 1 + number * step);
    let mut requests: Vec<_> =
        ids.map(|id| Request::get(format!("/v1/pets/{id}"), Expect::Pet)).collect();
    fastrand::Rng::with_seed(1).shuffle(&mut requests);
    requests
}

fn mixed() -> Vec<Request> {
    let ten = |create| (0..9).map(|_| hot_list()).chain([create]);
    creates().into_iter().flat_map(ten).collect()
}
