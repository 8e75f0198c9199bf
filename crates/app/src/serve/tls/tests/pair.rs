use std::{fs, path::PathBuf, process::Command};

use petstore_testing::or_skip_without;

use super::{Files, generated, params};

/// An X.509 certificate of version 1.
const VERSION_1: &str = "\
-----BEGIN CERTIFICATE-----
MIIBIzCBywIUOX2ZtujE9bUJU1g7NgPJPoBrwtcwCgYIKoZIzj0EAwIwFDESMBAG
A1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyNTA5MTkwNFoYDzIxMjYxMTAxMDkxOTA0
WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
AATqTonMomYS1deX3ZZF6Q8tR5hffyByNco/UdYD7plMBq9cXk8807IOekRnC9/G
/M5DVk3uKqZEZ5J6ZNf0OMoHMAoGCCqGSM49BAMCA0cAMEQCIFC/YzNUiYMYkOih
q9Dlt5hOuGrr7n86owba3XZAEooTAiAFx5YAzYPrpRgvTozLd3GdvyEqqX4kS5qX
f0N0IeyuJw==
-----END CERTIFICATE-----
";

impl Files {
    fn refusal(&self) -> Option<String> {
        self.files.read().err()
    }

    /// Asserts that the key is refused for `reason`. The message must not contain any part of the key.
    #[track_caller]
    fn refuse_the_key(&self, reason: &str) {
        let path = self.files.key.display();
        let expected = format!(
            "the private key in {path} cannot be used: {reason}; expected an unencrypted PEM block, such as \
             one that begins with '-----BEGIN PRIVATE KEY-----', with its line breaks; the key is ECDSA \
             (P-256 or P-384), Ed25519, or RSA (2048 to 4096 bits)"
        );
        assert_eq!(self.refusal(), Some(expected));
    }
}

/// Returns the output of `openssl` for the arguments `words`; `None` if openssl is not installed.
fn openssl(words: &str) -> Option<Vec<u8>> {
    let run = Command::new("openssl").args(words.split(' ')).output();
    let done = or_skip_without("openssl", run.map_err(|error| error.to_string()))?;
    assert!(done.status.success(), "{words}: {}", String::from_utf8_lossy(&done.stderr));
    Some(done.stdout)
}

#[test]
fn every_supported_kind_of_key_is_accepted() {
    // One file may hold both.
    let both = generated(&params()).concat();
    assert_eq!(Files::new(&both, &both).refusal(), None);
    for words in [
        "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256",
        "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384",
        "ecparam -name prime256v1 -genkey -noout",
        "genpkey -algorithm ED25519",
        "genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048",
        "genrsa -traditional 2048",
    ] {
        let Some(key) = openssl(words) else { return };
        let files = Files::new("", key);
        let path = files.files.key.to_str().unwrap();
        let words = format!("req -x509 -new -subj /CN=localhost -key {path}");
        // Text around the blocks may have any encoding.
        let certificate = [b"# \xe9\n", &*openssl(&words).unwrap()].concat();
        fs::write(&files.files.certificate, certificate).unwrap();
        assert_eq!(files.refusal(), None, "{words}");
    }
}

#[test]
fn the_error_for_an_unsupported_key_lists_the_supported_kinds() {
    let [certificate, _] = generated(&params());
    let unsupported = "this kind of key is not supported";
    for (words, reason) in [
        ("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-521", unsupported),
        ("ecparam -name secp256k1 -genkey -noout", unsupported),
        ("genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:1024", unsupported),
        ("genpkey -algorithm ED448", unsupported),
        ("genpkey -algorithm ED25519 -aes128 -pass pass:hush-hush", "it is encrypted"),
        ("genrsa -aes128 -traditional -passout pass:hush-hush 1024", "it is encrypted"),
    ] {
        let Some(key) = openssl(words) else { return };
        Files::new(&certificate, key).refuse_the_key(reason);
    }
}

#[test]
fn the_error_for_a_damaged_key_quotes_no_part_of_it() {
    let [certificate, key] = generated(&params());
    let lines: Vec<_> = key.lines().collect();
    let ill_formed = "the file is not well-formed PEM";
    for (damaged, reason) in [
        (key.replace('\n', ""), ill_formed),
        (key.replace('\n', "\\n"), ill_formed),
        (key.replace("-----\n", "----- "), ill_formed),
        (lines[..lines.len() - 1].join("\n"), ill_formed),
        (key.replacen(lines[1], &format!("{}!", lines[1]), 1), ill_formed),
        (key.replacen(lines[1], "MC4C", 1), "this kind of key is not supported"),
        (lines[1..].join("\n"), "the file contains no private key"),
        (String::new(), "the file contains no private key"),
        (certificate.clone(), "the file contains no private key"),
    ] {
        Files::new(&certificate, damaged).refuse_the_key(reason);
    }
}

#[test]
fn the_error_for_an_unusable_certificate_names_its_file_and_the_reason() {
    let [certificate, key] = generated(&params());
    let version_1 = "the first certificate is not X.509 version 3";
    for (damaged, reason) in [
        (VERSION_1.to_owned(), version_1),
        (certificate.replacen("MII", "MIJ", 1), version_1),
        (certificate.replace('\n', " "), "the file is not well-formed PEM"),
        (String::new(), "the file contains no certificate"),
        (key.clone(), "the file contains no certificate"),
    ] {
        let refusal = Files::new(damaged, &key).refusal().unwrap();
        let reason = format!("/cert.pem cannot be used: {reason}; expected PEM blocks");
        assert!(refusal.contains(&reason), "{refusal}");
    }
    let mut files = Files::new(&certificate, &key);
    fs::write(&files.files.key, &generated(&params())[1]).unwrap();
    assert!(files.refusal().unwrap().contains("/key.pem does not belong to the certificate in /"));
    files.files.key = PathBuf::from("/nowhere/key.pem");
    assert_eq!(
        files.refusal().unwrap(),
        "cannot read /nowhere/key.pem: No such file or directory (os error 2)"
    );
}
