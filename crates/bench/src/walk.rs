//! Pages found by following the links of the catalogue, as any client would.

use anyhow::{Result, bail};

use crate::{
    check::checked,
    client::{Client, next_page},
    request::{Expect, Request},
};

/// What a list can be filtered by.
pub(crate) const FILTERS: [&str; 4] = ["", "&status=available", "&status=pending", "&status=sold"];

/// The addresses of all pages after the first, of `limit` animals each. `filter` is one of
/// [`FILTERS`].
pub(crate) fn pages(client: &mut Client, limit: usize, filter: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut path = format!("/v1/pets?limit={limit}{filter}");
    loop {
        let answer = checked(client, &Request::get(&path, Expect::Page(limit)))?;
        let Some(next) = next_page(&answer) else { return Ok(found) };
        next.clone_into(&mut path);
        found.push(path.clone());
    }
}

/// `count` different pages with their limits: of 20, and of a little less where there are not
/// enough of those.
pub(crate) fn distinct(client: &mut Client, count: usize) -> Result<Vec<(String, usize)>> {
    let mut found = Vec::new();
    for limit in (1..=20).rev() {
        for filter in FILTERS {
            found.extend(pages(client, limit, filter)?.into_iter().map(|path| (path, limit)));
        }
        if found.len() >= count {
            found.truncate(count);
            return Ok(found);
        }
    }
    bail!("the catalogue has only {} pages, not {count}", found.len())
}

/// The address of a page with another limit. The cursor is a position, so it stays valid.
pub(crate) fn with_limit(path: &str, old: usize, new: usize) -> String {
    path.replacen(&format!("limit={old}&"), &format!("limit={new}&"), 1)
}

#[cfg(test)]
mod tests {
    use super::with_limit;

    #[test]
    fn the_limit_of_a_link_can_be_changed() {
        let path = "/v1/pets?limit=3&status=sold&cursor=AQ";
        assert_eq!(with_limit(path, 3, 20), "/v1/pets?limit=20&status=sold&cursor=AQ");
    }
}
