//! Encrypted connections.

use std::process::Command;

use petstore_testing::{Cluster, Durability, needs};

use crate::support::{add, open, refusal};

/// Makes an authority and a certificate for `localhost` that it signs, and turns TLS on with the certificate of
/// `server`: `leaf` or `ca`.
fn certify(cluster: &Cluster, server: &str) {
    let script = "cd \"$1\"; new='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'; \
        openssl req -x509 $new -days 2 -subj /CN=authority -keyout ca.key -out ca.pem \
          -addext basicConstraints=critical,CA:TRUE && \
        openssl req $new -subj /CN=localhost -keyout leaf.key -out leaf.csr && \
        echo subjectAltName=DNS:localhost > ext && \
        openssl x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
          -extfile ext -out leaf.pem && cat leaf.pem ca.pem > bundle.pem && chmod 600 *.key && chown --reference=data *.key *.pem";
    let mut shell = Command::new("sh");
    let made = shell.args(["-c", script, "sh"]).arg(cluster.home()).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let file = cluster.home().join(server).display().to_string();
    let settings = format!("ssl_cert_file = '{file}.pem'\nssl_key_file = '{file}.key'");
    cluster.configure(&format!("ssl = on\n{settings}")).unwrap();
    cluster.stop().and_then(|()| cluster.resume()).unwrap();
}

#[needs(postgres)]
#[tokio::test]
async fn a_certificate_must_be_signed_and_name_the_host_as_sslmode_requires() {
    let cluster = Cluster::start(Durability::Fast).unwrap();
    let url = |host: &str, query: &str| {
        let query = query.replace("CA", &cluster.home().join("bundle.pem").display().to_string());
        format!("postgres://petstore:secret@{host}:{}/postgres?{query}", cluster.port())
    };
    let plain = refusal(&url("localhost", "sslmode=require")).await;
    assert!(plain.contains("server does not support TLS"), "{plain}");
    assert!(plain.contains("; enable TLS on the server, or write ?sslmode=disable"), "{plain}");

    certify(&cluster, "leaf");
    let encrypted = "SELECT count(*) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) \
        WHERE s.ssl AND a.application_name";
    for (name, (host, query, is_encrypted)) in (0..).zip([
        ("127.0.0.1", "sslmode=disable", false),
        ("127.0.0.1", "sslmode=prefer", true),
        ("127.0.0.1", "sslmode=verify-ca&sslrootcert=CA", true),
        ("localhost", "sslmode=verify-full&sslrootcert=CA", true),
    ]) {
        let store = open(&url(host, &format!("{query}&application_name={name}"))).await;
        add(&store, "Rex").await;
        let count = cluster.sql(&format!("{encrypted} = '{name}'")).unwrap();
        assert_eq!(count.trim() != "0", is_encrypted, "{query}");
    }
    for (host, query, expected) in [
        ("127.0.0.1", "sslmode=verify-ca", "UnknownIssuer"),
        ("localhost", "sslmode=require", "UnknownIssuer"),
        ("127.0.0.1", "sslmode=verify-full&sslrootcert=CA", "not valid for name"),
    ] {
        let line = refusal(&url(host, query)).await;
        assert!(line.contains(expected), "{query}: {line}");
    }

    certify(&cluster, "ca");
    for mode in ["verify-ca", "verify-full"] {
        let line = refusal(&url("localhost", &format!("sslmode={mode}&sslrootcert=CA"))).await;
        assert!(line.contains("it is the certificate of an authority itself"), "{mode}: {line}");
    }
}
