//! Encrypted connections, and nodes that require a client certificate.

use std::process::Command;

use petstore_testing::{Etcd, free_port, needs};

use crate::support::{add, open, page, refusal, try_open};

/// The time limits of calls that succeed. A node that has just started may answer late.
const WORKS: &str = "&request_timeout=10s&call_timeout=30s";
/// The time limits of calls that fail, which use up all their time: enough for one handshake on a busy machine.
const FAILS: &str = "&request_timeout=3s&call_timeout=3s";

/// Makes an authority, and certificates that it signs: for a node called `localhost` and for a client.
fn certify(etcd: &Etcd) {
    let script = "set -e; cd \"$1\"; \
        new() { openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \"$@\" 2>/dev/null; }; \
        new -x509 -days 2 -subj /CN=authority -keyout ca.key -out ca.pem \
          -addext basicConstraints=critical,CA:TRUE; \
        printf 'subjectAltName=DNS:localhost' > ext; \
        for name in node client; do \
          new -subj /CN=$name -keyout $name.key -out $name.csr; \
          openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
            -extfile ext -out $name.pem 2>/dev/null; \
        done";
    let made = Command::new("sh").args(["-c", script, "sh"]).arg(etcd.data(0)).status().unwrap();
    assert!(made.success());
}

/// Restarts the node with an encrypted port beside the plain one. Returns the encrypted port.
fn encrypt(etcd: &Etcd, further: &[&str]) -> u16 {
    let (port, home) = (free_port().unwrap(), etcd.data(0).display().to_string());
    let mut flags = vec![
        format!("--listen-client-urls=http://{},https://127.0.0.1:{port}", etcd.endpoints()),
        format!("--cert-file={home}/node.pem"),
        format!("--key-file={home}/node.key"),
    ];
    flags.extend(further.iter().map(|flag| flag.replace("HOME", &home)));
    etcd.restart_with(&flags).unwrap();
    port
}

#[needs(etcd, time)]
#[tokio::test]
async fn a_node_must_show_a_signed_certificate_and_may_require_a_client_certificate() {
    let etcd = Etcd::start(1).unwrap();
    certify(&etcd);
    let home = etcd.data(0).display().to_string();
    let trusted = format!("sslmode=verify-full&sslrootcert={home}/ca.pem");

    let port = encrypt(&etcd, &[]);
    let url = |host: &str, query: &str| format!("etcd://{host}:{port}/zoo?{query}");
    add(&open(&(url("localhost", &trusted) + WORKS)).await).await;
    for (host, query, expected) in [
        ("127.0.0.1", &*trusted, "not valid for name"),
        ("localhost", "sslmode=verify-full", "UnknownIssuer, no authority that is trusted"),
        ("localhost", "sslmode=disable", "sslmode are right"),
    ] {
        let line = try_open(&(url(host, query) + FAILS), true).await.unwrap_err();
        assert!(line.contains(expected), "{host} {query}: {line}");
    }

    let asks = ["--client-cert-auth", "--trusted-ca-file=HOME/ca.pem"];
    let port = encrypt(&etcd, &asks);
    let url = |query: &str| format!("etcd://localhost:{port}/zoo?{query}");
    let shown = format!("{trusted}&sslcert={home}/client.pem&sslkey={home}/client.key");
    assert_eq!(page(&open(&(url(&shown) + WORKS)).await).await.len(), 1);
    let line = try_open(&(url(&trusted) + FAILS), true).await.unwrap_err();
    assert!(line.contains("ertificate"), "{line}");
    for (certificate, key, says) in [
        ("client.pem", "node.key", "sslkey HOME/node.key does not match sslcert"),
        ("none.pem", "client.key", "sslcert HOME/none.pem"),
        ("client.pem", "none.key", "sslkey HOME/none.key"),
    ] {
        let query = format!("{trusted}&sslcert={home}/{certificate}&sslkey={home}/{key}");
        let line = refusal(&url(&query)).await;
        assert!(line.contains(&says.replace("HOME", &home)), "{line}");
    }
}
