use std::io::Read as _;

use flate2::read::GzDecoder;
use sha2::{Digest as _, Sha256};

use super::FILES;

/// The version of `swagger-ui-dist`, and the SHA-256 of each file of it that is embedded.
const SWAGGER_UI: (&str, [(&str, &str); 5]) = (
    "5.35.0",
    [
        ("LICENSE.txt", "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"),
        ("NOTICE.txt", "0d20d1adef18aee3f40dd258172155521ce702ac445cb5f7b7d60ed32dad2fb2"),
        (
            "swagger-ui-bundle.js",
            "e6a898692f2d768e807c3ba4626068a69a2c5dd960dd6c76f3e4d3a3de180af2",
        ),
        (
            "swagger-ui-bundle.js.LICENSE.txt",
            "37eb6e7e59aed57b2c1acf076574b818ea07b74265717e0bd67b59e0baf9abbb",
        ),
        ("swagger-ui.css", "5ed08757e53da3e026d6cbecc61fe5d43585c9560b302d534ad56692519a273d"),
    ],
);

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

#[test]
fn swagger_ui_is_as_it_was_published() {
    let (version, files) = SWAGGER_UI;
    let embedded = FILES.iter().filter(|file| file.path.starts_with("/docs/swagger-ui/"));
    let digest = |content: &[u8]| -> String {
        Sha256::digest(content)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<Vec<_>>()
            .concat()
    };
    let embedded: Vec<_> = embedded
        .map(|file| (file.path.rsplit('/').next().unwrap(), digest(file.content)))
        .collect();
    let expected: Vec<_> = files.map(|(name, digest)| (name, digest.to_owned())).into();
    assert_eq!(embedded, expected);
    let page = std::str::from_utf8(FILES[0].content).unwrap();
    assert!(page.contains(&format!("Swagger UI {version}:")));
}
