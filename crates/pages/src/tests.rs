use std::io::Read as _;

use flate2::read::GzDecoder;

use super::{FILES, File};

/// What `/docs` may need compressed, in bytes. On a slow line of 500 kbit/s that is two thirds of a second.
const MAX_REFERENCE: usize = 40_000;
/// What its markup and style sheets may need: ten packets, which a server sends before it waits for the
/// first acknowledgement (RFC 6928).
const MAX_FIRST_ROUND_TRIP: usize = 10 * 1_460;

#[test]
fn the_reference_is_the_first_file_and_no_address_comes_twice() {
    assert_eq!(FILES[0].path, "/docs");
    for (index, file) in FILES.iter().enumerate() {
        assert!(FILES[..index].iter().all(|other| other.path != file.path), "{}", file.path);
        assert!(["/docs", "/catalogue"].iter().any(|page| file.path.starts_with(page)));
    }
}

#[test]
fn the_compressed_form_is_the_same_content() {
    for file in FILES {
        let mut content = Vec::new();
        GzDecoder::new(file.gzip).read_to_end(&mut content).unwrap();
        assert!(content == file.content, "{}", file.path);
    }
}

#[test]
fn different_content_has_different_tags() {
    for (index, file) in FILES.iter().enumerate() {
        assert_eq!(file.tag.len(), 32);
        for other in &FILES[..index] {
            assert_eq!(other.tag == file.tag, other.content == file.content, "{}", file.path);
        }
    }
}

#[test]
fn no_script_or_plug_in_may_come_from_the_page_itself_or_from_elsewhere() {
    for file in FILES {
        let policy = file.content_security_policy;
        for directive in [
            "default-src 'none'",
            "script-src 'self'",
            "connect-src 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
            "form-action 'self'",
        ] {
            assert!(policy.split("; ").any(|part| part == directive), "{}: {policy}", file.path);
        }
        assert!(!policy.contains("unsafe"), "{}: {policy}", file.path);
    }
}

/// The files that `/docs` loads, as its markup names them, itself included.
fn loaded_by_the_reference() -> Vec<&'static File> {
    let page = std::str::from_utf8(FILES[0].content).unwrap();
    let named = |file: &&File| {
        let tags =
            page.split('<').filter(|tag| tag.starts_with("link") || tag.starts_with("script"));
        file.path == "/docs"
            || tags.into_iter().any(|tag| tag.contains(&format!("\"{}\"", &file.path[1..])))
    };
    FILES.iter().filter(named).collect()
}

fn is_module(file: &File) -> bool {
    file.media_type.starts_with("text/javascript")
}

#[test]
fn the_reference_is_readable_within_one_round_trip_and_small_as_a_whole() {
    let files = loaded_by_the_reference();
    let size = |files: &[&File]| files.iter().map(|file| file.gzip.len()).sum::<usize>();
    assert!(files.len() > 10, "{files:?}");
    assert!(size(&files) < MAX_REFERENCE, "{}", size(&files));
    let first = files.into_iter().filter(|file| !is_module(file)).collect::<Vec<_>>();
    assert!(size(&first) < MAX_FIRST_ROUND_TRIP, "{}", size(&first));
}

#[test]
fn the_reference_says_what_it_is_before_a_script_runs() {
    let page = std::str::from_utf8(FILES[0].content).unwrap();
    let (_, body) = page.split_once("<body>").unwrap();
    for text in ["<h1>API reference</h1>", "List the animals", "curl http", "href=\"openapi.json\""]
    {
        assert!(body.contains(text), "{text}");
    }
    let (_, notice) = body.split_once("<noscript>").unwrap();
    let (notice, _) = notice.split_once("</noscript>").unwrap();
    assert!(notice.contains("href=\"openapi.json\""), "{notice}");
}

/// A module that the markup does not name would be asked for only after the one that imports it has
/// arrived: a round trip for each step of the way.
#[test]
fn every_module_of_the_reference_is_named_by_its_markup() {
    let files = loaded_by_the_reference();
    let modules = FILES.iter().filter(|file| file.path.starts_with("/docs/") && is_module(file));
    for module in modules {
        assert!(files.iter().any(|file| file.path == module.path), "{}", module.path);
    }
}

/// The addresses that a page or a module names: what it loads, and what it leads to.
fn addresses(file: &File) -> Vec<&'static str> {
    let content = std::str::from_utf8(file.content).unwrap();
    let (starts, end): (&[_], _) = if is_module(file) {
        (&["from '", "import '"], '\'')
    } else {
        (&["href=\"", "src=\""], '"')
    };
    let begun = starts.iter().flat_map(|start| content.split(start).skip(1));
    let addresses = begun.map(|rest| rest.split(end).next().unwrap());
    addresses.filter(|it| !it.starts_with('#') && !it.starts_with("data:")).collect()
}

/// A proxy may serve the pages below a path of its own, which it strips.
#[test]
fn every_address_is_relative_and_leads_to_a_file_wherever_the_pages_are() {
    let mut seen = 0;
    for file in FILES {
        let (folder, _) = file.path.rsplit_once('/').unwrap();
        for address in addresses(file) {
            let mut path: Vec<_> = folder.split('/').collect();
            for segment in address.split('/') {
                match segment {
                    "." => (),
                    ".." => drop(path.pop()),
                    _ => path.push(segment),
                }
            }
            let path = path.join("/");
            let exists = path == "/openapi.json" || FILES.iter().any(|other| other.path == path);
            assert!(exists, "{}: {address}", file.path);
            seen += 1;
        }
        let content = std::str::from_utf8(file.content).unwrap();
        for absolute in ["/v1", "/docs", "/catalogue", "/openapi"] {
            for quote in ['"', '\'', '`'] {
                assert!(
                    !content.contains(&format!("{quote}{absolute}")),
                    "{}: {absolute}",
                    file.path
                );
            }
        }
    }
    assert!(seen >= 90, "{seen}");
}
