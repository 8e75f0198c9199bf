use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use petstore_domain::StoreError;
use petstore_memory::MemoryStore;
use tokio::{runtime::Handle, time::timeout};

use super::{Opening, ServedStore};
use crate::{
    serve::tests::config,
    stores::{BoxError, OpenOptions, OpenStore, StoreArg, StoreLocation},
    system::Signals,
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

/// A location of memory stores.
struct Late {
    counts: Arc<Counts>,
    /// `true` if the opened stores have the ports of a handover.
    has_ports: bool,
    /// `true` if the first attempt to open a store fails.
    waits: bool,
}

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("late:")
    }
}

#[async_trait]
impl StoreLocation for Late {
    async fn open(&self, _: OpenOptions) -> Result<OpenStore, BoxError> {
        if self.counts.opened.fetch_add(1, Ordering::SeqCst) == 0 && self.waits {
            return Err(StoreError::unavailable("it is away").into());
        }
        let (store, counts) = (Arc::new(MemoryStore::new()), self.counts.clone());
        let open = OpenStore::new(store.clone()).with_close(async move {
            counts.closed.fetch_add(1, Ordering::SeqCst);
        });
        Ok(if self.has_ports {
            open.with_archive(store.clone()).with_handover(store)
        } else {
            open
        })
    }
}

fn opening(first: Late, next: Late) -> Opening {
    let mut args = config("petstore serve --no-upgrade").args;
    args.store.store = StoreArg { location: Arc::new(first), is_persistent: true };
    args.next_store = Some(StoreArg { location: Arc::new(next), is_persistent: true });
    Opening {
        args,
        first_key: None,
        signals: Signals::take_over().unwrap(),
        on_started: Box::new(|| {}),
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_store_without_handover_ports_is_closed() {
    let counts = [(); 2].map(|()| Arc::<Counts>::default());
    let [first, next] = counts.each_ref().map(|counts| Late {
        counts: counts.clone(),
        has_ports: false,
        waits: true,
    });
    let opening = opening(first, next);
    let tasks = Handle::current().metrics().num_alive_tasks();
    let mut served = ServedStore::open(opening).await.unwrap();
    let ended = timeout(Duration::from_mins(1), served.watching.join_next()).await;
    let failure = ended.unwrap().unwrap().unwrap();
    assert!(format!("{failure:?}").contains("cannot be handed over"), "{failure:?}");
    assert_eq!(counts[0].both(), (2, 1));
    served.close().await;
    assert_eq!(Handle::current().metrics().num_alive_tasks(), tasks);
}

#[tokio::test(start_paused = true)]
async fn a_next_store_without_handover_ports_is_closed_each_time() {
    let counts = [(); 2].map(|()| Arc::<Counts>::default());
    let [first, next] = [0, 1].map(|place| Late {
        counts: counts[place].clone(),
        has_ports: place == 0,
        waits: place == 0,
    });
    let opening = opening(first, next);
    let tasks = Handle::current().metrics().num_alive_tasks();
    let served = ServedStore::open(opening).await.unwrap();
    timeout(Duration::from_mins(1), async {
        while counts[1].both().1 < 3 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .unwrap();
    served.close().await;
    let (opened, closed) = counts[1].both();
    assert!(closed == opened || closed + 1 == opened, "{opened} opened, {closed} closed");
    assert_eq!(counts[0].both(), (2, 1));
    assert_eq!(Handle::current().metrics().num_alive_tasks(), tasks);
}
