use std::io::Read as _;

use flate2::read::GzDecoder;

use super::FILES;

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
