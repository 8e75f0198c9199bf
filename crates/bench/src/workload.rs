//! The workloads: what clients do all day, one kind of request at a time.

#![expect(clippy::unnecessary_wraps, reason = "some workloads can fail to be prepared, others not")]

use std::path::Path;

use crate::{
    catalogue::animal,
    client::Client,
    failure::{Failure, Outcome},
    load::{Load, Protocol},
    random::Random,
    request::{Expect, Request},
    server::KEY,
    walk,
};

/// The list that everybody asks for.
pub(crate) const HOT_LIST: &str = "/v1/pets?limit=20";
/// Different pages in rotation, of the workload `pages`.
const PAGES: usize = 1000;
/// The most different animals that are asked for in turn.
const MOST_IDS: u64 = 10_000;
/// Different animals that are added in turn.
const NEW_ANIMALS: u64 = 100;
/// How many animals a step is, in the walk that looks for places to begin a page at.
const STEP: usize = 3;

/// One kind of load.
#[derive(Debug)]
pub(crate) struct Workload {
    /// As it is named on the command line.
    pub(crate) name: &'static str,
    /// In a few words.
    pub(crate) title: &'static str,
    /// Whether it needs the large catalogue.
    pub(crate) large: bool,
    pub(crate) protocol: Protocol,
    requests: fn(&mut Ground<'_>) -> Outcome<Vec<Request>>,
}

/// What requests are made from: a running service and what is known of it.
#[derive(Debug)]
pub(crate) struct Ground<'a> {
    pub(crate) client: &'a mut Client,
    pub(crate) animals: u64,
    /// A key as the service makes them, but of another store.
    pub(crate) stranger: &'a str,
}

const fn http1(
    name: &'static str,
    title: &'static str,
    requests: fn(&mut Ground<'_>) -> Outcome<Vec<Request>>,
) -> Workload {
    Workload { name, title, large: false, protocol: Protocol::Http1, requests }
}

/// All of them, in the order in which they are run.
pub(crate) static WORKLOADS: [Workload; 11] = [
    http1("list", "list of 20, always the same page", hot_list),
    http1("pages", "list of 20, 1,000 pages in rotation", pages),
    Workload {
        large: true,
        ..http1("uncached", "filtered list of 20, each page asked for rarely", uncached)
    },
    http1("list-100", "list of 100, always the same page", list_100),
    http1("get", "one animal, by changing identifiers", get),
    http1("create", "adding an animal", create),
    http1("mixed", "9 lists of 20, then adding 1 animal", mixed),
    http1("unchanged", "list of 20 that the client has: 304", |ground| {
        Ok(vec![unchanged(ground.client)?])
    }),
    http1("unknown-key", "well-formed key of another store: 401", unknown_key),
    http1("malformed-key", "no key at all by its form: 401", malformed_key),
    Workload {
        protocol: Protocol::Http2,
        ..http1("http2", "list of 20 over HTTP/2, 10 streams a connection", hot_list)
    },
];

impl Workload {
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        WORKLOADS.iter().find(|workload| workload.name == name)
    }

    /// Prepares the requests, with their files in `folder`.
    pub(crate) fn prepare(&self, ground: &mut Ground<'_>, folder: &Path) -> Outcome<Load> {
        Load::new(self.protocol, (self.requests)(ground)?, folder)
    }
}

/// The one request of the hot list.
pub(crate) fn hot() -> Request {
    Request::get(HOT_LIST, KEY, Expect::Page(20))
}

fn hot_list(_: &mut Ground<'_>) -> Outcome<Vec<Request>> {
    Ok(vec![hot()])
}

fn pages(ground: &mut Ground<'_>) -> Outcome<Vec<Request>> {
    let mut found = walk::distinct(ground.client, PAGES)?;
    Random::new().shuffle(&mut found);
    let page = |(path, limit)| Request::get(path, KEY, Expect::Page(limit));
    Ok(found.into_iter().map(page).collect())
}

/// A page from every third animal on, for two of the filters. They are asked for one after the
/// other, so a cache that is smaller than all of them together has none when it is asked for.
fn uncached(ground: &mut Ground<'_>) -> Outcome<Vec<Request>> {
    let mut found = walk::pages(ground.client, STEP, walk::FILTERS[1])?;
    found.extend(walk::pages(ground.client, STEP, walk::FILTERS[2])?);
    Random::new().shuffle(&mut found);
    let paths = found.iter().map(|path| walk::with_limit(path, STEP, 20));
    Ok(paths.map(|path| Request::get(path, KEY, Expect::Page(20))).collect())
}

fn list_100(_: &mut Ground<'_>) -> Outcome<Vec<Request>> {
    Ok(vec![Request::get("/v1/pets?limit=100", KEY, Expect::Page(100))])
}

fn get(ground: &mut Ground<'_>) -> Outcome<Vec<Request>> {
    let step = (ground.animals / MOST_IDS).max(1);
    let step = usize::try_from(step).unwrap_or(usize::MAX);
    let mut ids: Vec<u64> = (1..=ground.animals).step_by(step).collect();
    Random::new().shuffle(&mut ids);
    Ok(ids.into_iter().map(|id| Request::get(format!("/v1/pets/{id}"), KEY, Expect::Pet)).collect())
}

fn create(_: &mut Ground<'_>) -> Outcome<Vec<Request>> {
    Ok((0..NEW_ANIMALS).map(|number| Request::create(animal(number), KEY)).collect())
}

fn mixed(_: &mut Ground<'_>) -> Outcome<Vec<Request>> {
    let create = |number| Request::create(animal(number), KEY);
    let ten = |number| (0..9).map(|_| hot()).chain([create(number)]);
    Ok((0..NEW_ANIMALS).flat_map(ten).collect())
}

/// The list of 20, for a client that has it as it is now.
pub(crate) fn unchanged(client: &mut Client) -> Outcome<Request> {
    let answer = client.ask(&hot())?;
    let tag = answer.header("etag").ok_or_else(|| Failure::new("the list has no ETag"))?;
    let request = Request { expect: Expect::Unchanged, ..hot() };
    Ok(request.with("If-None-Match", tag.to_owned()))
}

fn unknown_key(ground: &mut Ground<'_>) -> Outcome<Vec<Request>> {
    Ok(vec![Request::get(HOT_LIST, ground.stranger, Expect::Refused)])
}

fn malformed_key(_: &mut Ground<'_>) -> Outcome<Vec<Request>> {
    Ok(vec![Request::get(HOT_LIST, "not-a-key-of-petstore", Expect::Refused)])
}
