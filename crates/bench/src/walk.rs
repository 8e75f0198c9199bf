//! Finds pages by following the links of the catalogue.

use anyhow::Result;

use crate::{
    check::checked,
    client::{Client, next_page},
    request::{Expect, Request},
};

/// The number of animals between the starts of two pages.
const STEP: usize = 3;

/// Returns requests for pages of 20 that start at every third animal, shuffled the same way in every run. `filter` is a
/// part of the query, such as `&status=sold`.
pub(crate) fn pages(client: &mut Client, filter: &str) -> Result<Vec<Request>> {
    let mut found = Vec::new();
    let mut path = format!("/v1/pets?limit={STEP}{filter}");
    loop {
        let answer = checked(client, &Request::get(&path, Expect::Page(STEP)))?;
        let Some(next) = next_page(&answer) else { break };
        next.clone_into(&mut path);
        found.push(Request::get(of_20(&path), Expect::Page(20)));
    }
    fastrand::Rng::with_seed(1).shuffle(&mut found);
    Ok(found)
}

/// Returns the path of the page of 20 at the same cursor, which is valid for any page size.
fn of_20(path: &str) -> String {
    path.replacen(&format!("limit={STEP}&"), "limit=20&", 1)
}
