//! The strict parser of query strings. An error names the parameters that are unknown or invalid.

use std::{borrow::Cow, fmt::Display};

use petstore_domain::{PageLimit, PetQuery, PetStatus};
use petstore_json::FieldErrors;

use crate::{
    request::cursor,
    response::error::{ApiError, ErrorCode},
};

/// The errors of a query. A message names the first eight errors.
type Errors = FieldErrors<8>;
const UNREADABLE: &str = "must be the unchanged cursor of a next link";

/// Returns an error if there is any parameter.
pub(crate) fn require_none(query: Option<&str>) -> Result<(), ApiError> {
    let mut errors = Errors::default();
    for (name, _) in parameters(query) {
        errors.add(&name, "this operation takes no query parameter");
    }
    refuse(&errors)
}

/// Parses the query of listPets: `limit`, `status` and `cursor`, each at most once.
pub(crate) fn list_pets(query: Option<&str>) -> Result<PetQuery, ApiError> {
    let [mut limit, mut status, mut cursor] = [const { None::<Cow<'_, str>> }; 3];
    let mut errors = Errors::default();
    for (name, value) in parameters(query) {
        let sent = match &*name {
            "limit" => &mut limit,
            "status" => &mut status,
            "cursor" => &mut cursor,
            unknown => {
                errors.add(unknown, "unknown parameter; allowed are limit, status and cursor");
                continue;
            }
        };
        if sent.replace(value).is_some() {
            errors.add(&name, "must be given once at most");
        }
    }
    let limit = value("limit", limit.map(|text| PageLimit::parse(&text)), &mut errors);
    let status = value("status", status.map(|text| PetStatus::parse(&text)), &mut errors);
    let position = cursor.map(|text| cursor::decode(&text).ok_or(UNREADABLE));
    let position = value("cursor", position, &mut errors);
    let start = PetQuery { limit: limit.unwrap_or_default(), status, after: None };
    // After an error, the cursor is not compared with `status`, which may be invalid.
    let position = position.filter(|_| errors.is_empty());
    let resumed = position.map(|position| position.resume(start.limit, status));
    let query = value("cursor", resumed, &mut errors).unwrap_or(start);
    refuse(&errors)?;
    Ok(query)
}

/// Returns the value of a parameter that was sent. Adds the error to `errors` if the value is invalid.
fn value<T, E: Display>(name: &str, read: Option<Result<T, E>>, errors: &mut Errors) -> Option<T> {
    read?.map_err(|error| errors.add(name, &error.to_string())).ok()
}

/// Returns an error that names `errors`, unless there are none.
fn refuse(errors: &Errors) -> Result<(), ApiError> {
    if errors.is_empty() {
        return Ok(());
    }
    Err(ApiError::new(ErrorCode::InvalidQuery, errors.to_string()))
}

/// Returns the parameters. Most parameters have no escapes and need no decoding, which saves 2,000 instructions per
/// query.
fn parameters(query: Option<&str>) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    let pairs = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    pairs.filter_map(|pair| {
        if pair.contains(['%', '+']) {
            return form_urlencoded::parse(pair.as_bytes()).next();
        }
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((name.into(), value.into()))
    })
}

#[cfg(test)]
mod tests {
    use petstore_domain::{CursorPosition, PageLimit, PetId, PetQuery, PetStatus};

    use super::list_pets;
    use crate::{fuzz::cursor_text, response::error::ErrorCode};

    fn message(query: &str) -> String {
        let refusal = list_pets(Some(query)).unwrap_err();
        assert_eq!(refusal.code, ErrorCode::InvalidQuery);
        format!("{refusal:?}")
    }

    #[test]
    fn parameters_are_read_in_any_order() {
        let position = CursorPosition { after: PetId(7), status: Some(PetStatus::Sold) };
        let cursor = cursor_text(position);
        let all = PetQuery {
            limit: PageLimit::MAX,
            status: Some(PetStatus::Sold),
            after: Some(PetId(7)),
        };
        let sold = PetQuery { status: Some(PetStatus::Sold), ..PetQuery::default() };
        let table = [
            (String::new(), PetQuery::default()),
            ("limit=100".into(), PetQuery { limit: PageLimit::MAX, ..PetQuery::default() }),
            ("stat%75s=s%6Fld".into(), sold),
            ("&&status=sold&".into(), sold),
            (format!("limit=100&status=sold&cursor={cursor}"), all),
            (format!("cursor={cursor}&status=sold&limit=100"), all),
        ];
        for (query, expected) in table {
            assert_eq!(list_pets(Some(&query)).unwrap(), expected, "{query:?}");
        }
        assert_eq!(list_pets(None).unwrap(), PetQuery::default());
    }

    #[test]
    fn an_unknown_or_invalid_parameter_is_named() {
        let of_sold =
            cursor_text(CursorPosition { after: PetId(7), status: Some(PetStatus::Sold) });
        let other_status =
            [format!("cursor={of_sold}"), format!("cursor={of_sold}&status=pending")];
        let table = [
            (
                "`limit`: must be a whole number from 1 to 100",
                "limit limit= limit=0 limit=101 limit=%2B5 limit=5%0A limit=%205 limit=%ff limit=5=5",
            ),
            (
                "`limit`: must be given once at most",
                "limit=5&limit=5 limit=5&status=sold&limit=6 limit=5&%6Cimit=5",
            ),
            ("`status`: must be given once at most", "status=sold&status=sold"),
            (
                "`status`: must be one of available, pending, sold",
                "limit=5&status status=sold%20 status=%00 status= status=Sold",
            ),
            (
                "`cursor`: must be the unchanged cursor of a next link",
                "cursor= cursor cursor=%00 cursor=%FF cursor=abc",
            ),
            ("`cursor`: belongs to a list with another status", &other_status.join(" ")),
            ("`offset`: unknown parameter; allowed are limit, status and cursor", "offset=3"),
            ("`Limit`: unknown parameter", "Limit=5"),
            ("``: unknown parameter", "=5"),
            ("`a b c`: unknown parameter", "a%20b+c=5 a+b+c=5"),
            ("`\u{fffd}`: unknown parameter", "%ff=5"),
        ];
        for (expected, queries) in table {
            for query in queries.split(' ') {
                assert!(message(query).contains(expected), "{query}: {}", message(query));
            }
        }
        assert!(!message("api_key=canary&limits=5").contains("canary"));
        let unknown_status = message(&format!("cursor={of_sold}&status=lost"));
        assert!(!unknown_status.contains("`cursor`"), "{unknown_status}");
    }

    #[test]
    fn the_first_eight_errors_are_named_and_others_are_counted() {
        let all = message("limit=0&status=x&cursor=y&z=1");
        for name in ["`limit`", "`status`", "`cursor`", "`z`"] {
            assert!(all.contains(name), "{all}");
        }
        assert!(!all.contains("and 0 more"), "{all}");
        let many = "x=1&".repeat(1000);
        assert!(message(&many).contains("and 992 more"));
        assert!(message(&format!("{}=1", "y".repeat(5000))).len() < 300);
    }
}
