//! What the service's grouped commits are measured against: bare hyper that adds each animal in a
//! transaction of its own.
//!
//! It is as durable as the service (a write-ahead log with `synchronous=FULL`, statements prepared
//! once), has the same table, indexes and mark, and checks nothing. One connection behind a lock: SQLite
//! lets one write at a time, so more would only wait for one another.

use std::{
    convert::Infallible,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Request, Response, StatusCode,
    body::Incoming,
    header::{CONTENT_TYPE, HeaderValue, LOCATION},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpStream};

use crate::{
    console::say,
    failure::{Context as _, Outcome},
};

const SCHEMA: &str = "PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE pet (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        category_id INTEGER NOT NULL,
        status TEXT
    ) STRICT;
    CREATE INDEX pet_available ON pet (id, name, category_id) WHERE status = 'available';
    CREATE INDEX pet_pending ON pet (id, name, category_id) WHERE status = 'pending';
    CREATE INDEX pet_sold ON pet (id, name, category_id) WHERE status = 'sold';
    CREATE TABLE catalogue (only INTEGER PRIMARY KEY, version BLOB NOT NULL) STRICT;
    INSERT INTO catalogue VALUES (1, randomblob(16));
    CREATE TRIGGER pet_added AFTER INSERT ON pet BEGIN
        UPDATE catalogue SET version = randomblob(16);
    END;";

const INSERT: &str = "INSERT INTO pet (name, category_id, status) VALUES (?1, ?2, ?3)";

/// An animal, sent and received.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Pet {
    #[serde(skip_deserializing)]
    id: i64,
    name: String,
    category_id: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
}

/// Serves a new store in `file` until the process is killed.
pub(crate) async fn serve(file: &Path) -> Outcome<()> {
    let connection = Connection::open(file).cannot("open a SQLite file")?;
    connection.execute_batch(SCHEMA).cannot("make the table")?;
    let store = Arc::new(Mutex::new(connection));
    let listener = TcpListener::bind("127.0.0.1:0").await.cannot("listen")?;
    say(format_args!(
        "one-commit-each listens on http://{}",
        listener.local_addr().cannot("listen")?
    ));
    loop {
        let (stream, _) = listener.accept().await.cannot("accept a connection")?;
        tokio::spawn(connection_on(stream, Arc::clone(&store)));
    }
}

async fn connection_on(stream: TcpStream, store: Arc<Mutex<Connection>>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request: Request<Incoming>| add(request, Arc::clone(&store)));
    // A client that goes away is how every connection ends.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn add(
    request: Request<Incoming>,
    store: Arc<Mutex<Connection>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::default());
    match added(request, store).await {
        Some((id, body)) => {
            *response.status_mut() = StatusCode::CREATED;
            *response.body_mut() = Full::from(body);
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            headers.insert("x-request-id", HeaderValue::from_static("-"));
            if let Ok(place) = HeaderValue::try_from(format!("/v1/pets/{id}")) {
                headers.insert(LOCATION, place);
            }
        }
        None => *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR,
    }
    Ok(response)
}

async fn added(
    request: Request<Incoming>,
    store: Arc<Mutex<Connection>>,
) -> Option<(i64, Vec<u8>)> {
    let body = request.into_body().collect().await.ok()?.to_bytes();
    let mut pet: Pet = serde_json::from_slice(&body).ok()?;
    // Away from the threads that serve connections: a commit waits for the disk.
    let insert = move || {
        let store = store.lock().unwrap_or_else(PoisonError::into_inner);
        let mut statement = store.prepare_cached(INSERT)?;
        statement.execute((&pet.name, pet.category_id, &pet.status))?;
        pet.id = store.last_insert_rowid();
        Ok::<_, rusqlite::Error>(pet)
    };
    let pet = tokio::task::spawn_blocking(insert).await.ok()?.ok()?;
    Some((pet.id, serde_json::to_vec(&pet).ok()?))
}
