//! Pages found by following the links of the catalogue, as any client would.

use anyhow::Result;

use crate::{
    check::checked,
    client::{Client, next_page},
    request::{Expect, Request},
};

/// Animals between the beginnings of two pages.
const STEP: usize = 3;

/// Requests for pages of 20, one from every third animal on, in no order but in the same one in
/// every run. `filter` is part of the query, such as `&status=sold`.
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

/// The address of the page of 20 at the same cursor, which is a position and so stays valid.
fn of_20(path: &str) -> String {
    path.replacen(&format!("limit={STEP}&"), "limit=20&", 1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_link_becomes_one_to_a_page_of_20() {
        let path = super::of_20("/v1/pets?limit=3&status=sold&cursor=AQ");
        assert_eq!(path, "/v1/pets?limit=20&status=sold&cursor=AQ");
    }
}
