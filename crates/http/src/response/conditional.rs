//! Entity tags and conditional requests (RFC 9110, sections 8.8.3 and 13.1.2).

use std::fmt::Write as _;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hyper::{
    HeaderMap,
    header::{HeaderValue, IF_NONE_MATCH},
};
use petstore_domain::{CatalogueVersion, CategoryId, Pet, PetId, PetName, PetQuery, PetStatus};
use petstore_json::pets_to_json;
use sha2::{Digest, Sha256};

/// The length of most tags, in bytes.
const TYPICAL_TAG: usize = 64;

/// What has an entity tag and an entry in the cache, in each version of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Resource {
    Page(PetQuery),
    Pet(PetId),
}

/// Makes the entity tags of lists and animals.
#[derive(Debug)]
pub(crate) struct Tags {
    /// What all of them begin with: a digest of how animals are encoded and linked to. If that changes, the same
    /// catalogue has another content, and so other tags.
    prefix: String,
}

impl Tags {
    /// Creates the tags of a service whose links begin with `base`.
    pub(crate) fn new(base: &str) -> Self {
        Self::with_writer(base, pets_to_json)
    }

    fn with_writer(base: &str, write: fn(&[Pet]) -> Vec<u8>) -> Self {
        let json = write(&sample());
        let mut encoding = Sha256::new();
        encoding.update(base);
        encoding.update(&json);
        Self { prefix: format!("W/\"{}.", URL_SAFE_NO_PAD.encode(&encoding.finalize()[..6])) }
    }

    /// Returns the tag of `resource` in one version of the catalogue. It is known without a query.
    pub(crate) fn of_state(&self, version: CatalogueVersion, resource: Resource) -> HeaderValue {
        let mut text = String::with_capacity(TYPICAL_TAG);
        text.push_str(&self.prefix);
        URL_SAFE_NO_PAD.encode_string(version.0.to_be_bytes(), &mut text);
        // Writing to a string never fails.
        let _ = match resource {
            Resource::Page(PetQuery { limit, status, after }) => {
                let status = status.map_or("", |status| status.as_str());
                let after = after.map(|id| id.to_string()).unwrap_or_default();
                write!(text, ".{}.{status}.{after}\"", limit.get())
            }
            Resource::Pet(id) => write!(text, ".{id}\""),
        };
        header_value(text)
    }

    /// Returns the tag of `resource`, which was read as `content`: that of its version if the store has one.
    pub(crate) fn of(
        &self,
        content: &[u8],
        version: Option<CatalogueVersion>,
        resource: Resource,
    ) -> HeaderValue {
        match version {
            Some(version) => self.of_state(version, resource),
            None => tag_of_content(content),
        }
    }
}

/// Returns animals whose JSON has every field, and every kind of value and character.
fn sample() -> Vec<Pet> {
    let statuses = [None].into_iter().chain(PetStatus::ALL.map(Some));
    let name = PetName::parse("Zo\u{eb} \"\\/<\u{1f408}>");
    let pet = |status| {
        let (id, name) = (PetId(i64::MAX), name.clone().ok()?);
        Some(Pet { id, name, category_id: CategoryId(-1), status })
    };
    statuses.filter_map(pet).collect()
}

/// Returns the tag of bytes, for a store that has no version.
pub(crate) fn tag_of_content(content: &[u8]) -> HeaderValue {
    let digest = Sha256::digest(content);
    header_value(format!("W/\"{}\"", URL_SAFE_NO_PAD.encode(&digest[..16])))
}

fn header_value(text: String) -> HeaderValue {
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("W/\"\""))
}

/// Returns whether the client has what `tag` stands for, which exists: then the answer is 304.
pub(crate) fn matches(request: &HeaderMap, tag: &HeaderValue) -> bool {
    // `*` matches whatever exists.
    let is_any = || conditions(request).any(|value| value.trim_ascii() == b"*");
    request.contains_key(IF_NONE_MATCH) && (is_any() || names(request, tag))
}

/// Returns whether the client names `tag` in `If-None-Match`, by weak comparison.
pub(crate) fn names(request: &HeaderMap, tag: &HeaderValue) -> bool {
    let opaque = tag.as_bytes().strip_prefix(b"W/").unwrap_or(tag.as_bytes());
    conditions(request).any(|list| is_in_list(list, opaque))
}

fn conditions(request: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    request.get_all(IF_NONE_MATCH).iter().map(HeaderValue::as_bytes)
}

/// Walks the list `"a", W/"b"` for a tag, which is given without `W/`; what follows a malformed member is not
/// looked at.
fn is_in_list(mut list: &[u8], tag: &[u8]) -> bool {
    loop {
        while let [b' ' | b'\t' | b',', rest @ ..] = list {
            list = rest;
        }
        let opaque = list.strip_prefix(b"W/").unwrap_or(list);
        let Some(inside) = opaque.strip_prefix(b"\"") else { return false };
        let Some(end) = inside.iter().position(|byte| *byte == b'"') else { return false };
        if &opaque[..end + 2] == tag {
            return true;
        }
        list = &inside[end + 1..];
    }
}

#[cfg(test)]
mod tests {
    use hyper::{
        HeaderMap,
        header::{HeaderValue, IF_NONE_MATCH},
    };
    use petstore_domain::{CatalogueVersion, PageLimit, PetId, PetQuery, PetStatus};
    use petstore_json::pets_to_json;

    use super::{Resource, Tags, matches, names, sample, tag_of_content};

    #[test]
    fn if_none_match_is_a_list_compared_weakly() {
        let tag = HeaderValue::from_static("W/\"a.b\"");
        let table = [
            ("\"a.b\"", true),
            ("W/\"a.b\"", true),
            ("\"x\", \"a.b\"", true),
            ("\"x\",W/\"a.b\" , \"y\"", true),
            (", ,\"a.b\"", true),
            ("\"a\"", false),
            ("a.b", false),
            ("\"a.b", false),
            ("w/\"a.b\"", false),
            ("\"x\" a.b", false),
            ("\"x\"a.b\"", false),
            ("", false),
        ];
        for (sent, expected) in table {
            let headers = HeaderMap::from_iter([(IF_NONE_MATCH, HeaderValue::from_static(sent))]);
            assert_eq!(names(&headers, &tag), expected, "{sent}");
            assert_eq!(matches(&headers, &tag), expected, "{sent}");
        }
        let any = HeaderMap::from_iter([(IF_NONE_MATCH, HeaderValue::from_static("*"))]);
        assert!(matches(&any, &tag) && !names(&any, &tag));
        assert!(!matches(&HeaderMap::new(), &tag));
    }

    #[test]
    fn tags_of_different_subjects_or_states_differ() {
        let page = |limit, status, after: Option<i64>| {
            Resource::Page(PetQuery { limit, status, after: after.map(PetId) })
        };
        let resources = [
            page(PageLimit::DEFAULT, None, None),
            page(PageLimit::MAX, None, None),
            page(PageLimit::DEFAULT, Some(PetStatus::Sold), None),
            page(PageLimit::DEFAULT, None, Some(7)),
            page(PageLimit::DEFAULT, None, Some(-7)),
            Resource::Pet(PetId(7)),
            Resource::Pet(PetId(20)),
        ];
        let mut tags = Vec::new();
        for version in [CatalogueVersion(0), CatalogueVersion(1), CatalogueVersion(u128::MAX)] {
            tags.extend(resources.map(|resource| Tags::new("/v1").of_state(version, resource)));
        }
        tags.extend([tag_of_content(b"[]"), tag_of_content(b"{}")]);
        for (index, tag) in tags.iter().enumerate() {
            let text = tag.to_str().unwrap();
            assert!(text.len() > 10 && text.starts_with("W/\"") && text.ends_with('"'), "{text}");
            assert!(!tags[..index].contains(tag), "{text}");
        }
    }

    #[test]
    fn a_tag_changes_with_what_is_written_and_with_nothing_else() {
        let tag = |tags: Tags| tags.of_state(CatalogueVersion(7), Resource::Pet(PetId(7)));
        assert_eq!(sample().len(), 4);
        let tags = [
            Tags::new("/v1"),
            Tags::new("/animals/v1"),
            Tags::with_writer("/v1", |pets| format!("{pets:?}").into()),
            Tags::with_writer("/v1", |pets| pets_to_json(&pets[..3])),
        ];
        let tags = tags.map(tag);
        for (index, other) in tags.iter().enumerate() {
            assert!(!tags[..index].contains(other), "{other:?}");
        }
        assert_eq!(tag(Tags::with_writer("/v1", pets_to_json)), tags[0]);
    }
}
