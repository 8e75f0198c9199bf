use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use petstore_domain::{MockHandover, MockKeyStore, StoreError};
use petstore_memory::MemoryStore;
use tokio::{runtime::Handle, time::timeout};

use super::{FirstKey, Opening, ServedStore};
use crate::{
    serve::{tests::config, tls::tests::record_events},
    stores::{OpenStore, StoreArg, tests::OpensWith},
};

/// The number of attempts to open a store, and the number of closes.
#[derive(Default)]
struct Counts {
    opened: AtomicUsize,
    closed: AtomicUsize,
}

impl Counts {
    fn both(&self) -> (usize, usize) {
        (self.opened.load(Ordering::SeqCst), self.closed.load(Ordering::SeqCst))
    }
}

/// Names memory stores, with the ports of a handover if `has_ports`. The first attempt to open a store that `waits`
/// fails. With ports, its state cannot be read at the second attempt, and its keys at the third.
fn memory(counts: &Arc<Counts>, has_ports: bool, waits: bool) -> StoreArg {
    let counts = counts.clone();
    let open = move || {
        let attempt = counts.opened.fetch_add(1, Ordering::SeqCst);
        if attempt == 0 && waits {
            return Err(away().into());
        }
        let (store, counts) = (Arc::new(MemoryStore::new()), counts.clone());
        let new = OpenStore::new(store.clone()).newly_created("test:/place");
        let open = new.with_close(async move {
            counts.closed.fetch_add(1, Ordering::SeqCst);
        });
        if !has_ports {
            return Ok(open);
        }
        let (mut handover, mut keys) = (MockHandover::new(), MockKeyStore::new());
        let mut open = open.with_handover(store.clone()).with_archive(store);
        if waits && attempt == 1 {
            handover.expect_state().returning(|| Err(away()));
            open = open.with_handover(Arc::new(handover));
        } else if waits && attempt == 2 {
            keys.expect_load().returning(|_| Err(away()));
            open.keys = Arc::new(keys);
        }
        Ok(open)
    };
    StoreArg { location: Arc::new(OpensWith(open)), is_persistent: true }
}

fn away() -> StoreError {
    StoreError::unavailable("it is away")
}

fn opening(first: StoreArg, next: StoreArg) -> Opening {
    let mut args = config("petstore serve --no-upgrade").args;
    args.store.store = first;
    args.next_store = Some(next);
    Opening {
        args,
        first_key: Some(FirstKey {
            how: String::new(),
            target: String::new(),
            pages: String::new(),
        }),
        on_started: Box::new(|| {}),
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_store_without_handover_ports_is_closed() {
    let counts = Arc::<Counts>::default();
    let next = memory(&Arc::default(), false, true);
    let opening = opening(memory(&counts, false, true), next);
    let tasks = Handle::current().metrics().num_alive_tasks();
    let mut served = ServedStore::open(opening).await.unwrap();
    let ended = timeout(Duration::from_mins(1), served.watching.join_next()).await;
    let failure = ended.unwrap().unwrap().unwrap();
    assert!(format!("{failure:?}").contains("cannot be handed over"), "{failure:?}");
    assert_eq!(counts.both(), (2, 1));
    served.close().await;
    assert_eq!(Handle::current().metrics().num_alive_tasks(), tasks);
}

#[tokio::test(start_paused = true)]
async fn a_next_store_is_closed_at_the_end_and_each_time_without_handover_ports() {
    let (log, _guard) = record_events();
    for has_ports in [false, true] {
        let [first, next] = [(); 2].map(|()| Arc::<Counts>::default());
        let opening = opening(memory(&first, true, true), memory(&next, has_ports, false));
        let tasks = Handle::current().metrics().num_alive_tasks();
        let served = ServedStore::open(opening).await.unwrap();
        timeout(Duration::from_mins(1), async {
            let is_open = || served.stores.opened[1].borrow().is_some();
            while first.both().0 < 4 || !is_open() && next.both().0 < 3 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await
        .unwrap();
        served.close().await;
        assert!(!log.text().contains("took too long to close"), "{}", log.text());
        assert_eq!(log.take("made a new store store=\"test:/place\""), 1);
        let (opened, closed) = next.both();
        assert!(closed == opened || !has_ports && closed + 1 == opened, "{opened} {closed}");
        assert_eq!(first.both(), (4, 3));
        assert_eq!(Handle::current().metrics().num_alive_tasks(), tasks);
    }
}
