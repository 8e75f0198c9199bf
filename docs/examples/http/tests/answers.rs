//! A request over TCP to the example server, which has a real key ring and an empty store in memory.

use petstore_domain::ServiceKey;
use petstore_http::DrainOutcome;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

#[tokio::test]
async fn a_request_with_the_key_gets_the_list() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let key = ServiceKey::parse("a-key-of-the-team").unwrap();
    // The server stops when the client is done.
    let client = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = "GET /v1/pets HTTP/1.1\r\nhost: example\r\nconnection: close\r\n\
                       authorization: Bearer a-key-of-the-team\r\n\r\n";
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("[]"), "{answer}");
    };
    assert_eq!(example_http::serve(listener, key, client).await, DrainOutcome::Complete);
}
