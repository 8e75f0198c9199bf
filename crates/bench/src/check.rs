//! Whether an answer is right. Slowness is measured; a wrong answer ends the benchmark.

use serde_json::Value;

use crate::{
    client::{Answer, Client},
    failure::{Failure, Outcome},
    request::{Expect, Request},
};

/// How many requests of a workload are looked at before it is measured.
const LOOKED_AT: usize = 20;

/// Asks some of the requests, spread over all of them, and looks at the answers.
pub(crate) fn spot_check(client: &mut Client, requests: &[Request]) -> Outcome<()> {
    let step = (requests.len() / LOOKED_AT).max(1);
    for request in requests.iter().step_by(step) {
        let answer = client.ask(request)?;
        verify(request.expect, &answer).map_err(|fault| {
            let Request { method, path, .. } = request;
            let body = String::from_utf8_lossy(&answer.body);
            let shown: String = body.chars().take(200).collect();
            Failure::new(format!(
                "WRONG ANSWER to {method} {path}: {fault}; it was {} '{shown}'",
                answer.status
            ))
        })?;
    }
    Ok(())
}

/// Whether `answer` is what was expected, or what is wrong with it.
pub(crate) fn verify(expect: Expect, answer: &Answer) -> Result<(), String> {
    let status = match expect {
        Expect::Page(_) | Expect::FullPage(_) | Expect::Pet => 200,
        Expect::Created => 201,
        Expect::Unchanged => 304,
        Expect::Refused => 401,
    };
    require(answer.status == status, &format!("its status should be {status}"))?;
    require(answer.header("x-request-id").is_some(), "it should have an X-Request-Id")?;
    if expect == Expect::Unchanged {
        return require(answer.header("etag").is_some(), "it should have an ETag");
    }
    let json = answer.header("content-type") == Some("application/json");
    require(json, "it should be application/json")?;
    let body: Value = serde_json::from_slice(&answer.body).map_err(|error| error.to_string())?;
    match expect {
        Expect::Page(limit) => page(&body, limit, answer),
        Expect::FullPage(limit) => {
            page(&body, limit, answer)?;
            let full = body.as_array().is_some_and(|pets| pets.len() == limit);
            require(full, &format!("it should have all {limit} animals"))
        }
        Expect::Pet => require(is_pet(&body), "its body should be an animal"),
        Expect::Created => {
            let place = answer.header("location").unwrap_or_default();
            let right = is_pet(&body) && place == format!("/v1/pets/{}", body["id"]);
            require(right, "it should be an animal at its Location")
        }
        Expect::Refused => {
            let right = body["code"] == "unauthorized" && body["status"] == 401;
            require(right, "its body should be the error 'unauthorized'")
        }
        Expect::Unchanged => Ok(()),
    }
}

fn page(body: &Value, limit: usize, answer: &Answer) -> Result<(), String> {
    let pets = body.as_array().ok_or("its body should be an array")?;
    require(pets.iter().all(is_pet), "its elements should be animals")?;
    let ids: Vec<_> = pets.iter().filter_map(|pet| pet["id"].as_i64()).collect();
    require(ids.is_sorted_by(|a, b| a < b), "its animals should be in order")?;
    require(answer.header("etag").is_some(), "it should have an ETag")?;
    let full = if answer.next().is_some() { pets.len() == limit } else { pets.len() <= limit };
    require(full && !pets.is_empty(), &format!("it should have {limit} animals"))
}

fn is_pet(value: &Value) -> bool {
    let status = value
        .get("status")
        .is_none_or(|status| ["available", "pending", "sold"].iter().any(|known| status == known));
    value["id"].is_i64() && value["name"].is_string() && value["categoryId"].is_i64() && status
}

fn require(holds: bool, rule: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(rule.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::verify;
    use crate::{client::Answer, request::Expect};

    fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Answer {
        let always = [("x-request-id", "1"), ("content-type", "application/json")];
        let headers = always.iter().chain(headers);
        Answer {
            status,
            headers: headers.map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            body: body.into(),
        }
    }

    const REX: &str = r#"{"id":1,"name":"Rex","categoryId":1}"#;

    #[test]
    fn right_answers_pass() {
        let tag = ("etag", "\"x\"");
        let list = format!("[{REX}]");
        let refused = r#"{"code":"unauthorized","message":"","status":401}"#;
        assert_eq!(verify(Expect::Page(20), &answer(200, &[tag], &list)), Ok(()));
        assert_eq!(verify(Expect::FullPage(1), &answer(200, &[tag], &list)), Ok(()));
        assert_eq!(verify(Expect::Pet, &answer(200, &[tag], REX)), Ok(()));
        assert_eq!(verify(Expect::Unchanged, &answer(304, &[tag], "")), Ok(()));
        assert_eq!(verify(Expect::Refused, &answer(401, &[], refused)), Ok(()));
        let created = answer(201, &[("location", "/v1/pets/1")], REX);
        assert_eq!(verify(Expect::Created, &created), Ok(()));
    }

    #[test]
    fn wrong_answers_do_not() {
        let tag = ("etag", "\"x\"");
        let next = ("link", "</v1/pets?cursor=x>; rel=\"next\"");
        let list = format!("[{REX}]");
        for (expect, answer) in [
            (Expect::Page(20), answer(200, &[], &list)),
            (Expect::Page(20), answer(200, &[tag, next], &list)),
            (Expect::Page(20), answer(200, &[tag], "[]")),
            (Expect::Page(20), answer(200, &[tag], &format!("[{REX},{REX}]"))),
            (Expect::Page(20), answer(200, &[tag], r#"[{"id":1}]"#)),
            (Expect::FullPage(20), answer(200, &[tag], &list)),
            (Expect::Pet, answer(404, &[tag], REX)),
            (Expect::Created, answer(201, &[("location", "/v1/pets/2")], REX)),
            (Expect::Refused, answer(401, &[], REX)),
            (Expect::Unchanged, answer(200, &[tag], REX)),
        ] {
            assert!(verify(expect, &answer).is_err(), "{expect:?} {answer:?}");
        }
    }
}
