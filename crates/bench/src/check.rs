//! Checks of responses. A wrong response ends the benchmark.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::{
    client::{Answer, Client, header, next_page},
    request::{Expect, Request},
};

/// About this many requests of a workload are checked before and after the measurement.
const SPOT_CHECKS: usize = 20;

/// The first bytes of a gzip file (RFC 1952, section 2.3.1).
const GZIP: &[u8] = &[0x1f, 0x8b];

/// Sends every n-th of the requests, about `SPOT_CHECKS` in all, and checks the responses.
pub(crate) fn spot_check(client: &mut Client, requests: &[Request]) -> Result<()> {
    let step = (requests.len() / SPOT_CHECKS).max(1);
    requests.iter().step_by(step).try_for_each(|request| checked(client, request).map(drop))
}

/// Sends one request, and checks the response.
pub(crate) fn checked(client: &mut Client, request: &Request) -> Result<Answer> {
    Ok(checked_at_once(client, &[request])?.remove(0))
}

/// Sends requests at the same time, each on a connection of its own, and checks all responses.
pub(crate) fn checked_at_once(client: &mut Client, requests: &[&Request]) -> Result<Vec<Answer>> {
    let answers = client.ask_at_once(requests)?;
    for (answer, request) in answers.iter().zip(requests) {
        verify(request.expect, answer).with_context(|| {
            let body: String = String::from_utf8_lossy(answer.body()).chars().take(200).collect();
            let Request { method, path, .. } = request;
            format!("WRONG ANSWER to {method} {path}: {} '{body}'", answer.status())
        })?;
    }
    Ok(answers)
}

fn verify(expect: Expect, answer: &Answer) -> Result<()> {
    let status = match expect {
        Expect::Page(_) | Expect::Pet | Expect::Compressed => 200,
        Expect::Created => 201,
        Expect::Unchanged => 304,
    };
    ensure!(answer.status() == status, "its status should be {status}");
    ensure!(header(answer, "x-request-id").is_some(), "it should have an X-Request-Id");
    let has_tag = header(answer, "etag").is_some();
    if expect == Expect::Unchanged {
        ensure!(has_tag, "it should have an ETag");
        return Ok(());
    }
    ensure!(header(answer, "content-type") == Some("application/json"), "it should be JSON");
    if expect == Expect::Compressed {
        let is_gzip = header(answer, "content-encoding") == Some("gzip");
        let is_compressed = has_tag && is_gzip && answer.body().starts_with(GZIP);
        ensure!(is_compressed, "it should have an ETag and a body compressed by gzip");
        return Ok(());
    }
    let body: Value = serde_json::from_slice(answer.body()).context("its body should be JSON")?;
    match expect {
        Expect::Page(limit) => {
            ensure!(has_tag, "it should have an ETag");
            page(&body, limit, next_page(answer).is_some())?;
        }
        Expect::Pet => ensure!(is_pet(&body), "its body should be an animal"),
        Expect::Created => {
            let location = format!("/v1/pets/{}", body["id"]);
            let right = is_pet(&body) && header(answer, "location") == Some(&location);
            ensure!(
                right,
                "its body should be an animal, and its Location the address of the animal"
            );
        }
        Expect::Unchanged | Expect::Compressed => {}
    }
    Ok(())
}

fn page(body: &Value, limit: usize, has_next: bool) -> Result<()> {
    let pets = body.as_array().context("its body should be an array")?;
    ensure!(pets.iter().all(is_pet), "its elements should be animals");
    let ids: Vec<_> = pets.iter().filter_map(|pet| pet["id"].as_i64()).collect();
    ensure!(ids.is_sorted_by(|a, b| a < b), "its animals should be in the order of their ids");
    let right = if has_next { pets.len() == limit } else { (1..=limit).contains(&pets.len()) };
    ensure!(right, "it should have {limit} animals, or 1 to {limit} on the last page");
    Ok(())
}

fn is_pet(value: &Value) -> bool {
    let status = value.get("status");
    let status = status
        .is_none_or(|status| status == "available" || status == "pending" || status == "sold");
    value["id"].is_i64() && value["name"].is_string() && value["categoryId"].is_i64() && status
}

#[cfg(test)]
mod tests {
    use super::verify;
    use crate::{client::Answer, request::Expect};

    const PET: &str = r#"{"id":1,"name":"Rex","categoryId":1}"#;

    fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Answer {
        let always = [("x-request-id", "1"), ("content-type", "application/json")];
        let mut builder = hyper::Response::builder().status(status);
        for (name, value) in always.iter().chain(headers) {
            builder = builder.header(*name, *value);
        }
        builder.body(body.to_owned().into()).unwrap()
    }

    #[test]
    fn wrong_responses_fail() {
        let tag = ("etag", "\"x\"");
        let next = ("link", "</v1/pets?cursor=x>; rel=\"next\"");
        let list = format!("[{PET}]");
        for (expect, answer) in [
            (Expect::Page(20), answer(200, &[], &list)),
            (Expect::Page(20), answer(200, &[tag, next], &list)),
            (Expect::Page(20), answer(200, &[tag], "[]")),
            (Expect::Page(20), answer(200, &[tag], &format!("[{PET},{PET}]"))),
            (Expect::Page(20), answer(200, &[tag], r#"[{"id":1}]"#)),
            (Expect::Compressed, answer(200, &[tag, ("content-encoding", "gzip")], "[]")),
            (Expect::Compressed, answer(200, &[tag], "\u{1f}\u{8b}")),
            (Expect::Pet, answer(404, &[tag], PET)),
            (Expect::Created, answer(201, &[("location", "/v1/pets/2")], PET)),
            (Expect::Unchanged, answer(200, &[tag], PET)),
        ] {
            assert!(verify(expect, &answer).is_err(), "{expect:?} {answer:?}");
        }
    }
}
