use std::{
    hash::{BuildHasher as _, RandomState},
    io::Read as _,
};

use bytes::Bytes;
use flate2::read::GzDecoder;
use hyper::{
    HeaderMap,
    header::{ACCEPT_ENCODING, HeaderValue, IF_NONE_MATCH},
};

use super::{Representation, gzip, matches, takes_gzip};
use crate::request::tests::headers_of;

#[test]
fn gzip_is_sent_to_clients_that_name_it() {
    let table = [
        ("gzip", true),
        ("GZIP", true),
        ("br;q=1.0, gzip;q=0.5", true),
        ("br , gzip ; q=0.001", true),
        ("gzip;Q=1.000", true),
        ("*", false),
        ("x-gzip", false),
        ("gzip; q=0.000, *", false),
        ("gzip;q=1.001", false),
        ("gzip;q=NaN", false),
        ("gzip;level=9", false),
        ("", false),
    ];
    for (sent, expected) in table {
        let headers = headers_of(&ACCEPT_ENCODING, &[sent]);
        assert_eq!(takes_gzip(&headers), expected, "{sent:?}");
    }
    assert!(!takes_gzip(&HeaderMap::new()));
    assert!(takes_gzip(&headers_of(&ACCEPT_ENCODING, &["br", "gzip"])));
}

#[test]
fn content_is_compressed_once_and_adds_to_the_size() {
    let headers = headers_of(&ACCEPT_ENCODING, &["gzip"]);
    let content = Bytes::from(vec![b'x'; 4000]);
    let large = Representation::json(content, Some(HeaderValue::from_static("next")));
    let before = large.size();
    assert_eq!(before, 4000 + large.tag.len() + "next".len());
    large.answer(&headers, None);
    let compressed = large.gzip.get().cloned().flatten().unwrap();
    assert_eq!(large.answer(&headers, None).headers()["link"], "next");
    assert_eq!(large.gzip.get().unwrap().as_ref().unwrap().as_ptr(), compressed.as_ptr());
    assert!(compressed.len() < 100);
    assert_eq!(large.size(), before + compressed.len());
}

#[test]
fn a_reused_compressor_compresses_the_whole_content() {
    let mut content = Vec::new();
    for number in 0..3000_u32 {
        content.extend((number * number).to_string().into_bytes());
        if number % 100 > 0 {
            continue;
        }
        let Some(compressed) = gzip(&content) else { continue };
        let mut read = Vec::new();
        GzDecoder::new(&*compressed).read_to_end(&mut read).unwrap();
        assert_eq!(read, content);
    }
    let random = RandomState::new();
    let noise: Vec<_> = (0..500).flat_map(|number| random.hash_one(number).to_ne_bytes()).collect();
    assert!(gzip(&noise).is_none());
    assert!(gzip(&[b'x'; 1024]).is_none() && gzip(&[b'x'; 1025]).is_some());
}

#[test]
fn if_none_match_is_a_list_compared_weakly() {
    let tag = HeaderValue::from_static("W/\"a.b\"");
    let table = [
        ("\"a.b\"", true),
        ("W/\"a.b\"", true),
        ("\"x\",W/\"a.b\" , \"y\"", true),
        (", ,\"a.b\"", true),
        (" * ", true),
        ("\"a\"", false),
        ("a.b", false),
        ("w/\"a.b\"", false),
        ("\"x,y\", \"a.b\"", true),
        ("", false),
    ];
    for (sent, expected) in table {
        let headers = headers_of(&IF_NONE_MATCH, &[sent]);
        assert_eq!(matches(&headers, &tag), expected, "{sent}");
    }
    assert!(!matches(&HeaderMap::new(), &tag));
    assert!(matches(&headers_of(&IF_NONE_MATCH, &["\"x\"", "\"a.b\""]), &tag));
}

/// The expected digests come from the C library of XXH3, by the Python package `xxhash`.
#[test]
fn the_tag_of_a_body_and_its_link_is_equal_in_all_releases() {
    let link = HeaderValue::from_static("</v1/pets?limit=1&cursor=x>; rel=\"next\"");
    let tag_of = |content: &'static str, link| Representation::json(content, link).tag;
    let tags = [
        (tag_of("[]", None), "W/\"OTR_9AK2xT2DEVQRDjCsag\""),
        (tag_of("[]", Some(link)), "W/\"0FGoYv5Sf49Aw5UyoA4aEw\""),
        (tag_of("{}", None), "W/\"3HBI-Ph0f1YTSc3hJ3BcFg\""),
    ];
    for (tag, expected) in tags {
        assert_eq!(tag, expected);
    }
}
