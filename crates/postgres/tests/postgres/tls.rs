//! Encrypted connections.

use std::{path::Path, process::Command};

use petstore_testing::{Cluster, Durability, needs};

use crate::support::{add, open, refusal};

/// Makes an authority and a certificate for `localhost` that it signs, runs the shell command `last` in their folder,
/// and turns TLS on.
fn certify(cluster: &Cluster, last: &str) {
    let script = "set -e; cd \"$1\"; \
        openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.pem \
          -addext basicConstraints=critical,CA:TRUE 2>/dev/null; \
        openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.csr 2>/dev/null; \
        printf 'subjectAltName=DNS:localhost' > ext; \
        openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
          -extfile ext -out server.pem 2>/dev/null; eval \"$2\"; \
        chmod 600 server.key; chown --reference=data server.key server.pem";
    let made = Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(cluster.home())
        .arg(last)
        .status()
        .unwrap();
    assert!(made.success());
    let home = cluster.home().display();
    cluster
        .configure(&format!(
            "ssl = on\nssl_cert_file = '{home}/server.pem'\nssl_key_file = '{home}/server.key'"
        ))
        .unwrap();
    cluster.restart().unwrap();
}

fn url(cluster: &Cluster, host: &str, query: &str) -> String {
    format!("postgres://petstore:secret@{host}:{}/postgres?{query}", cluster.port())
}

fn encrypted(cluster: &Cluster) -> String {
    let count = "SELECT count(*) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) \
                 WHERE s.ssl AND a.application_name = 'petstore'";
    cluster.sql(count).unwrap().trim().to_owned()
}

fn pem(cluster: &Cluster) -> String {
    let path: &Path = cluster.home();
    path.join("ca.pem").display().to_string()
}

#[needs(postgres)]
#[tokio::test]
async fn a_certificate_must_be_signed_and_name_the_host_as_sslmode_requires() {
    let cluster = Cluster::start(Durability::Fast).unwrap();
    let plain = refusal(&url(&cluster, "localhost", "sslmode=require")).await;
    certify(&cluster, "");

    let verified = format!("sslmode=verify-full&sslrootcert={}", pem(&cluster));
    let store = open(&url(&cluster, "localhost", &verified)).await;
    add(&store, "Rex").await;
    assert_ne!(encrypted(&cluster), "0");
    drop(store);

    let signed = format!("sslmode=verify-ca&sslrootcert={}", pem(&cluster));
    let store = open(&url(&cluster, "127.0.0.1", &signed)).await;
    add(&store, "Rex").await;
    assert_ne!(encrypted(&cluster), "0");
    drop(store);

    let not_signed = refusal(&url(&cluster, "127.0.0.1", "sslmode=verify-ca")).await;
    let wrong_name = refusal(&url(&cluster, "127.0.0.1", &verified)).await;
    let unknown = refusal(&url(&cluster, "localhost", "sslmode=require")).await;
    for (line, expected) in [
        (plain, "server does not support TLS"),
        (wrong_name, "not valid for name"),
        (unknown, "UnknownIssuer"),
        (not_signed, "UnknownIssuer"),
    ] {
        assert!(line.contains(expected), "{line}");
    }

    let store = open(&url(&cluster, "127.0.0.1", "sslmode=prefer")).await;
    add(&store, "Rex").await;
    assert_ne!(encrypted(&cluster), "0");
    drop(store);

    let store = open(&url(&cluster, "127.0.0.1", "sslmode=disable")).await;
    add(&store, "Rex").await;
    drop(store);
}

#[needs(postgres)]
#[tokio::test]
async fn a_server_with_the_certificate_of_an_authority_is_refused_with_a_plain_message() {
    let cluster = Cluster::start(Durability::Fast).unwrap();
    certify(&cluster, "cat ca.key > server.key; cat ca.pem > server.pem");
    for mode in ["verify-ca", "verify-full"] {
        let query = format!("sslmode={mode}&sslrootcert={}", pem(&cluster));
        let refusal = refusal(&url(&cluster, "localhost", &query)).await;
        assert!(refusal.contains("it is the certificate of an authority itself"), "{refusal}");
    }
}
