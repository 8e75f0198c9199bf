//! Opening a store: refusals, the rest of a deleted store, and the rights of users.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use petstore_domain::{
    AddError, IdempotencyId, IdempotencyRequest, NewPet, PetId, PetQuery, PetRepository as _,
    PetStatus, StoreError, Timestamp, add_key,
};
use petstore_etcd::{EtcdConfig, EtcdStore, OpenSettings};
use petstore_storage::Finding;
use petstore_testing::{Etcd, needs};
use tokio::time::timeout;

use crate::support::{add, new_key, open, page, refusal, rex, try_open, url};

#[needs(etcd)]
#[tokio::test]
async fn a_prefix_of_another_program_or_of_a_newer_release_is_refused() {
    let etcd = Etcd::start(1).unwrap();
    let url = url(&etcd);
    let newer = url.replace("/zoo", "/zoo0");
    let (one, other) = tokio::join!(open(&newer), open(&newer));
    assert_ne!(one.was_created(), other.was_created());
    let missing = try_open(&url, false).await.unwrap_err();
    assert!(missing.contains("no petstore store is in it"), "{missing}");
    // The rest of a deleted store may sort before the other program's key.
    etcd.put("zoo/waiting", "an instance that was not stopped").unwrap();
    etcd.put("zoo/yours", "").unwrap();
    let foreign = refusal(&url).await;
    assert!(foreign.contains("it holds the key zoo/yours of another program"), "{foreign}");
    let head = r#"{"schema":4,"oldest":3,"oldest_release":"9.8.7","identity":1,"revision":0,"rewrites":0,
        "phase":"open","version":1,"last_pet":0,"key_revision":1,"last_key":0,"recent":[]}"#;
    etcd.put("zoo0/store", head).unwrap();
    let too_new = refusal(&newer).await;
    assert!(too_new.contains("use petstore 9.8.7 or newer"), "{too_new}");
    etcd.put("zoo0/store", &head.replace("\"oldest\":3", "\"oldest\":2")).unwrap();
    let store = open(&newer).await;
    add(&store).await;
    let schema = store.inspect().await.unwrap().remove(0);
    assert_eq!(schema, Finding::warning("schema", "version 4, of a newer release"));
    let pending = r#"{"name":"Rex","category":1,"status":"pending"}"#;
    etcd.put("zoo0/status/sold/8000000000000001", pending).unwrap();
    let wrong = store.list(PetQuery { status: Some(PetStatus::Sold), ..PetQuery::default() }).await;
    assert!(matches!(wrong, Err(StoreError::Corrupt(_))), "{wrong:?}");
    etcd.put("zoo0/store", "nonsense").unwrap();
    let broken = refusal(&newer).await;
    let rule = "the store holds the head of the store, which breaks the rule";
    assert!(broken.contains(rule), "{broken}");
}

#[tokio::test]
async fn each_node_is_named_with_its_last_answer_and_may_answer_later() {
    let refused = |code: u8| {
        let body = format!("{{\"code\":{code},\"message\":\"Not Found\"}}");
        let head = "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length";
        format!("{head}: {}\r\n\r\n{body}", body.len())
    };
    let busy = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n".to_owned();
    for (answer, says, may_pass) in [
        (String::new(), ": no answer); check that most nodes run", true),
        (busy, ": HTTP status 503); check", true),
        (refused(5), "/zoo: Not Found", false),
        (refused(12), "/zoo: Not Found", false),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let node = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let mut streams = Vec::new();
            for mut stream in listener.incoming().map_while(Result::ok) {
                let _ = stream.read(&mut [0; 1024]);
                let _ = stream.write_all(answer.as_bytes());
                streams.push(stream);
            }
        });
        let url = format!("etcd://127.0.0.1:1,{node}/zoo?request_timeout=1min&call_timeout=2s");
        let config = EtcdConfig::parse(&url).unwrap();
        let opening = EtcdStore::open(&config, OpenSettings::default());
        let opened = timeout(Duration::from_secs(30), opening).await.unwrap();
        let error = opened.map(drop).unwrap_err();
        let line = error.to_string();
        let end = if may_pass { format!("; http://{node}{says}") } else { says.to_owned() };
        let names_first = line.contains("within 2s (http://127.0.0.1:1: ");
        assert!(line.contains(&end) && names_first == may_pass, "{line}");
        assert_eq!(matches!(error.into(), StoreError::Unavailable(_)), may_pass, "{line}");
    }
}

#[needs(etcd)]
#[tokio::test]
async fn the_rest_of_a_deleted_store_is_recognized() {
    let etcd = Etcd::start(1).unwrap();
    etcd.put("zoo/waiting", "an instance that was not stopped").unwrap();
    let store = open(&url(&etcd)).await;
    let request = IdempotencyRequest::new(IdempotencyId([1; 16]), &rex(), Timestamp(0));
    let rex = NewPet { status: Some(PetStatus::Sold), ..rex() };
    store.add(rex, Some(request)).await.unwrap();
    add_key(&store, new_key(1)).await.unwrap();
    etcd.delete("zoo/store").unwrap();
    for folder in ["expiry", "head", "keys", "pets", "recorded", "records", "status"] {
        let refusal = refusal(&url(&etcd)).await;
        let (key, says) =
            refusal.split_once("it holds the key zoo/").unwrap().1.split_once(' ').unwrap();
        assert_eq!(key.split('/').next(), Some(folder), "{refusal}");
        assert!(says.starts_with("of a petstore store whose key zoo/store is"), "{refusal}");
        assert!(says.contains("--prefix zoo/'"), "{refusal}");
        etcd.delete(&format!("zoo/{key}")).unwrap();
    }
}

/// Sends a request to the first node, and returns the body of the answer. The timeout is long, because a busy node
/// takes long to hash a password.
fn post(etcd: &Etcd, path: &str, fields: &str, json: &str) -> String {
    let mut stream = TcpStream::connect(etcd.endpoints()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let length = json.len();
    write!(stream, "POST {path} HTTP/1.0\r\n{fields}Content-Length: {length}\r\n\r\n{json}")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains(" 200 OK\r\n"), "{answer}");
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// Sends a request in the name of the user `root`, whose password is `r`.
fn post_as_root(etcd: &Etcd, path: &str, json: &str) {
    let answer = post(etcd, "/v3/auth/authenticate", "", r#"{"name":"root","password":"r"}"#);
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    let token = answer["token"].as_str().unwrap();
    post(etcd, path, &format!("Authorization: {token}\r\n"), json);
}

/// Creates the user `me` with the password `hush@` and rights under `zoo/`, and enables etcd's authentication. Returns the
/// first key of the prefix in base64.
fn enable_users(etcd: &Etcd) -> String {
    let [key, end] = ["zoo/", "zoo0"].map(|text| STANDARD.encode(text));
    for (path, body) in [
        ("user/add", r#"{"name":"root","password":"r"}"#.to_owned()),
        ("user/grant", r#"{"user":"root","role":"root"}"#.to_owned()),
        ("user/add", r#"{"name":"me","password":"hush@"}"#.to_owned()),
        ("role/add", r#"{"name":"zoo"}"#.to_owned()),
        (
            "role/grant",
            format!(
                r#"{{"name":"zoo","perm":{{"permType":"READWRITE","key":"{key}","range_end":"{end}"}}}}"#
            ),
        ),
        ("user/grant", r#"{"user":"me","role":"zoo"}"#.to_owned()),
        ("enable", "{}".to_owned()),
    ] {
        post(etcd, &format!("/v3/auth/{path}"), "", &body);
    }
    key
}

#[needs(etcd)]
#[tokio::test]
async fn a_user_needs_rights_on_the_prefix_alone_and_the_token_is_renewed() {
    let etcd = Etcd::start(1).unwrap();
    let plain = url(&etcd);
    // The node may take long to hash a password, and to start.
    let with_user = |user: &str| {
        plain.replace("etcd://", &format!("etcd://{user}@"))
            + "?request_timeout=20s&call_timeout=30s"
    };
    let early = refusal(&with_user("me:hush")).await;
    assert!(early.contains("or enable etcd's authentication"), "{early}");
    let key = enable_users(&etcd);
    let authenticated = Arc::new(AtomicU32::new(0));
    let count = authenticated.clone();
    let sees = move |request: &str| {
        count.fetch_add(request.contains("/v3/auth/authenticate").into(), Ordering::Relaxed);
        false
    };
    let proxy = etcd.proxy(sees).unwrap();
    let counted = open(&with_user("me:hush%40").replace(&etcd.endpoints(), &proxy)).await;
    assert_eq!(authenticated.load(Ordering::Relaxed), 1);
    // A change of the password ends the token. Calls that are refused together get one new token.
    post_as_root(&etcd, "/v3/auth/user/changepw", r#"{"name":"me","password":"hush@"}"#);
    let pages = tokio::join!(page(&counted), page(&counted), page(&counted), page(&counted));
    assert_eq!((pages.0, authenticated.load(Ordering::Relaxed)), (vec![], 2));
    let store = open(&with_user("me:hush%40")).await;
    add(&store).await;
    for (url, says) in [
        (plain.clone(), "name a user in the URL"),
        (with_user("me:wrong"), "fix the user or the password"),
        (with_user("me:hush%40").replace("/zoo", "/other"), "grant the user's role readwrite"),
    ] {
        let refusal = refusal(&url).await;
        assert!(refusal.contains(says) && !refusal.contains("hush"), "{refusal}");
    }
    // A token ends with the node's process.
    etcd.kill(0);
    etcd.resume(0).unwrap();
    add(&store).await;
    assert_eq!(page(&store).await.len(), 2);
    assert!(store.inspect().await.unwrap().iter().any(|finding| finding.subject == "server"));

    // These calls can succeed again after the operator has acted, so their error is `Unavailable`, not `Refused`.
    let denied = async |says: &str| {
        let read = store.find(PetId(1)).await.unwrap_err();
        let Err(AddError::Store(written)) = store.add(rex(), None).await else { panic!("{says}") };
        for error in [read, written] {
            let is_passing = matches!(error, StoreError::Unavailable(_));
            assert!(is_passing && error.to_string().contains(says), "{error}");
        }
    };
    let end = STANDARD.encode("zoo0");
    let role = format!(r#"{{"role":"zoo","key":"{key}","range_end":"{end}"}}"#);
    post_as_root(&etcd, "/v3/auth/role/revoke", &role);
    denied("permission denied; grant the user's role readwrite").await;
    post_as_root(&etcd, "/v3/auth/user/changepw", r#"{"name":"me","password":"other"}"#);
    denied("authentication failed, invalid user ID or password; fix the user").await;
}
