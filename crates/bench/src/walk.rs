//! Pages found by walking the catalogue along its links, as any client would.

use crate::{
    check,
    client::Client,
    failure::{Failure, Outcome},
    request::{Expect, Request},
    server::KEY,
};

/// What a list can be filtered by.
pub(crate) const FILTERS: [&str; 4] = ["", "&status=available", "&status=pending", "&status=sold"];

/// The addresses of all pages after the first, of `limit` animals each. `filter` is one of
/// [`FILTERS`].
pub(crate) fn pages(client: &mut Client, limit: usize, filter: &str) -> Outcome<Vec<String>> {
    let mut found = Vec::new();
    let mut path = format!("/v1/pets?limit={limit}{filter}");
    loop {
        let request = Request::get(&path, KEY, Expect::Page(limit));
        let answer = client.ask(&request)?;
        check::verify(request.expect, &answer)
            .map_err(|fault| Failure::new(format!("WRONG ANSWER to GET {path}: {fault}")))?;
        let Some(next) = answer.next() else { return Ok(found) };
        next.clone_into(&mut path);
        found.push(path.clone());
    }
}

/// `wanted` different pages with their limits: of 20, and of a little less where there are not
/// enough of those.
pub(crate) fn distinct(client: &mut Client, wanted: usize) -> Outcome<Vec<(String, usize)>> {
    let mut found = Vec::new();
    for limit in (1..=20).rev() {
        for filter in FILTERS {
            found.extend(pages(client, limit, filter)?.into_iter().map(|path| (path, limit)));
        }
        if found.len() >= wanted {
            found.truncate(wanted);
            return Ok(found);
        }
    }
    Err(Failure::new(format!("the catalogue has only {} pages, not {wanted}", found.len())))
}

/// The address of a page with another limit; the cursor stays good, as it is a position.
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
