//! The body of createPet, read strictly: every fault is named in one answer.

mod members;

use std::{borrow::Cow, str};

use petstore_domain::{CategoryId, NewPet, PetName, PetStatus};
use serde_json::value::RawValue;

use self::members::{Kind, Member, kind_of};
use crate::{
    error::{ApiError, ErrorCode},
    query::echo,
};

/// The most faults that one answer names.
const MOST_FAULTS: usize = 32;

/// The animal that `body` describes.
///
/// # Errors
/// `invalid_json` if the body is not one JSON document in UTF-8, `invalid_pet` if it is, but not
/// of a `NewPet`.
pub(crate) fn parse(body: &[u8]) -> Result<NewPet, ApiError> {
    let text = text(body).map_err(|fault| refuse(ErrorCode::InvalidJson, fault))?;
    let members = members::of(text).or_else(|fault| {
        // Most bodies are taken apart at once; only of another one is it asked what it is.
        let document = one_document(text).map_err(|fault| refuse(ErrorCode::InvalidJson, fault))?;
        Err(refuse(ErrorCode::InvalidPet, no_object(document, &fault)))
    })?;
    let mut draft = Draft::default();
    for member in members {
        draft.take(&member);
    }
    draft.finish().map_err(|faults| refuse(ErrorCode::InvalidPet, faults))
}

fn refuse(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> ApiError {
    ApiError::new(code, message)
}

fn text(body: &[u8]) -> Result<&str, Cow<'static, str>> {
    if body.is_empty() {
        return Err("the body is empty; it must be a JSON object".into());
    }
    let text = str::from_utf8(body).map_err(|error| {
        format!("the body must be UTF-8, but byte {} is not", error.valid_up_to())
    })?;
    if text.starts_with('\u{feff}') {
        return Err("the body must begin with its JSON, not with a byte-order mark".into());
    }
    Ok(text)
}

fn one_document(text: &str) -> Result<&RawValue, String> {
    serde_json::from_str(text)
        .map_err(|error| format!("the body must be one JSON document, but: {error}"))
}

fn no_object(document: &RawValue, fault: &serde_json::Error) -> String {
    let kind = kind_of(document.get());
    if kind == Kind::Object {
        return format!("the body must be a JSON object, but: {fault}");
    }
    format!("the body must be a JSON object, but is {kind}")
}

/// A `NewPet` while its members are read.
#[derive(Default)]
struct Draft {
    name: Seen<PetName>,
    category_id: Seen<CategoryId>,
    status: Seen<PetStatus>,
    faults: Vec<String>,
}

/// What is known of a member.
#[derive(Default)]
enum Seen<T> {
    #[default]
    Absent,
    /// It was there, and its fault is noted.
    Faulty,
    Good(T),
}

impl<T> Seen<T> {
    fn good(self) -> Option<T> {
        match self {
            Self::Good(value) => Some(value),
            Self::Absent | Self::Faulty => None,
        }
    }
}

impl Draft {
    fn take(&mut self, member: &Member<'_>) {
        let faults = &mut self.faults;
        match member.name.as_str() {
            "name" => read(&mut self.name, member, faults, name),
            "categoryId" => read(&mut self.category_id, member, faults, category_id),
            "status" => read(&mut self.status, member, faults, status),
            "id" => faults.push("`id`: is assigned by the service and must not be sent".into()),
            other => faults.push(format!(
                "`{}`: unknown field; allowed are name, categoryId and status",
                echo(other)
            )),
        }
    }

    fn finish(mut self) -> Result<NewPet, String> {
        if matches!(self.name, Seen::Absent) {
            self.faults.push("`name`: is required".into());
        }
        if matches!(self.category_id, Seen::Absent) {
            self.faults.push("`categoryId`: is required".into());
        }
        if let (true, Some(name), Some(category_id)) =
            (self.faults.is_empty(), self.name.good(), self.category_id.good())
        {
            return Ok(NewPet { name, category_id, status: self.status.good() });
        }
        let unnamed = self.faults.len().saturating_sub(MOST_FAULTS);
        if unnamed > 0 {
            self.faults.truncate(MOST_FAULTS);
            self.faults.push(format!("and {unnamed} more"));
        }
        Err(self.faults.join("; "))
    }
}

fn read<T>(
    place: &mut Seen<T>,
    member: &Member<'_>,
    faults: &mut Vec<String>,
    parse: fn(&Member<'_>) -> Result<T, String>,
) {
    if !matches!(place, Seen::Absent) {
        faults.push(format!("`{}`: must be given once", member.name));
        return;
    }
    *place = match parse(member) {
        Ok(value) => Seen::Good(value),
        Err(fault) => {
            faults.push(format!("`{}`: {fault}", member.name));
            Seen::Faulty
        }
    };
}

fn name(member: &Member<'_>) -> Result<PetName, String> {
    PetName::parse(member.string()?).map_err(|fault| fault.to_string())
}

fn category_id(member: &Member<'_>) -> Result<CategoryId, String> {
    const RULE: &str = "must be a whole number from -9223372036854775808 to 9223372036854775807, \
                        in plain digits";
    let kind = member.kind();
    if kind != Kind::Number {
        return Err(format!("{RULE}, but is {kind}"));
    }
    member.text().parse().map(CategoryId).map_err(|_| RULE.into())
}

fn status(member: &Member<'_>) -> Result<PetStatus, String> {
    PetStatus::parse(&member.string()?).map_err(|fault| fault.to_string())
}

#[cfg(test)]
mod tests;
