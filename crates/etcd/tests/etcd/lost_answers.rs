//! A network that loses answers.

use std::{
    io::{Read, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
};

use petstore_testing::{etcd_or_skip, needs};

use crate::support::{add, open, page, url};

/// Forwards requests to a node, one a connection. While `lose` counts down, the answers to transactions are lost.
fn proxy(node: String, lose: Arc<AtomicU32>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (client, node, lose) = (client.unwrap(), node.clone(), Arc::clone(&lose));
            thread::spawn(move || forward(client, &node, &lose));
        }
    });
    address
}

fn forward(mut client: TcpStream, node: &str, lose: &AtomicU32) {
    let mut node = TcpStream::connect(node).unwrap();
    while let Some(request) = message(&mut client) {
        node.write_all(&request).unwrap();
        let answer = message(&mut node).unwrap();
        // One that puts.
        let writes = String::from_utf8_lossy(&request).contains("request_put");
        let is_dropped = writes
            && lose
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
                .is_ok();
        if is_dropped {
            return;
        }
        client.write_all(&answer).unwrap();
    }
}

/// A head and its body; `None` at the end of the stream.
fn message(stream: &mut impl Read) -> Option<Vec<u8>> {
    let (mut all, mut byte) = (Vec::new(), [0]);
    while !all.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        all.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&all).to_lowercase();
    if let Some(length) = head.split("content-length: ").nth(1) {
        let mut body = vec![0; length.split("\r\n").next()?.parse().ok()?];
        stream.read_exact(&mut body).ok()?;
        all.extend(body);
    } else {
        while !all.ends_with(b"\r\n0\r\n\r\n") {
            stream.read_exact(&mut byte).ok()?;
            all.push(byte[0]);
        }
    }
    Some(all)
}

#[needs(etcd)]
#[tokio::test(flavor = "multi_thread")]
async fn an_addition_whose_answer_was_lost_is_added_once_and_acknowledged() {
    let Some(etcd) = etcd_or_skip("an_addition_whose_answer_was_lost", 1) else { return };
    let lose = Arc::new(AtomicU32::new(0));
    let proxy = proxy(etcd.endpoints(), Arc::clone(&lose));
    let (store, other) = (open(&format!("etcd://{proxy}/zoo")).await, open(&url(&etcd)).await);
    let mut added = Vec::new();
    for (lost, is_behind) in [(0, false), (1, false), (3, false), (1, true), (2, false), (2, true)]
    {
        if is_behind {
            // What the first instance remembers of the head is out of date then, and its first try is in vain.
            added.push(add(&other).await);
        }
        lose.store(lost, Ordering::SeqCst);
        added.push(add(&store).await);
        assert_eq!(lose.load(Ordering::SeqCst), 0);
        assert_eq!(page(&store).await, added);
    }
    assert_eq!(page(&other).await, added);
}
