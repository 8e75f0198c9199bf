//! Every promise of the storage ports, on two stores between which a move flips again and again.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::{ops::ControlFlow, sync::Arc, time::Duration};

use async_trait::async_trait;
use petstore_conformance::{Capability, Harness, Problem, ScratchStore, Store};
use petstore_domain::{Added, CategoryId, NewPet, PetName, PetRepository, StoreError};
use petstore_memory::MemoryStore;
use petstore_postgres::{PostgresConfig, PostgresStore};
use petstore_relocation::{Mover, OpenSide, Place, RelocatingStore, Side, Watch};
use petstore_sqlite::{SqliteConfig, SqliteStore, Synchronous};
use petstore_testing::{Database, postgres_or_skip};
use tempfile::TempDir;
use tokio::{task::JoinHandle, time};

/// How long each store decides, in turn, in milliseconds: mostly so short that each promise sees flips, and
/// once long enough for a version.
const ERAS: [u64; 4] = [0, 5, 20, 500];

/// Where the two stores are.
#[derive(Clone)]
struct Places {
    memory: Option<Arc<MemoryStore>>,
    file: SqliteConfig,
    database: Option<PostgresConfig>,
}

impl Places {
    async fn open(&self, url: &str) -> Result<Side, Problem> {
        Ok(match (url, &self.memory, &self.database) {
            ("own", Some(memory), _) => Side::new(Arc::clone(memory)),
            ("other", None, Some(config)) => {
                Side::new(Arc::new(PostgresStore::connect(config).await?))
            }
            _ => Side::new(Arc::new(SqliteStore::open(&self.file)?)),
        })
    }
}

#[async_trait]
impl OpenSide for Places {
    async fn open(&self, url: &str) -> Result<Side, StoreError> {
        Self::open(self, url).await.map_err(StoreError::unavailable)
    }

    fn shown(&self, url: &str) -> String {
        url.to_owned()
    }
}

/// Two stores and a mover that lets the one and the other decide.
struct Pair {
    places: Places,
    flipping: JoinHandle<()>,
    watches: std::sync::Mutex<Vec<Watch>>,
    _folder: TempDir,
    _database: Option<Database>,
}

impl Pair {
    async fn new(
        memory: Option<Arc<MemoryStore>>,
        database: Option<Database>,
    ) -> Result<Self, Problem> {
        let folder = TempDir::new()?;
        let path = folder.path().join("petstore.db");
        let file = SqliteConfig { path, synchronous: Synchronous::Normal };
        let config = database.as_ref().map(|it| PostgresConfig::parse(&it.url)).transpose()?;
        let places = Places { memory, file, database: config };
        let (own, other) = (places.open("own").await?, places.open("other").await?);
        let mut mover =
            Mover::new((own, "own".to_owned()), (other, "other".to_owned()), str::to_owned);
        mover.begin().await?;
        let flipping = tokio::spawn(async move {
            let mut place = Place::Other;
            for era in ERAS.into_iter().cycle() {
                time::sleep(Duration::from_millis(era)).await;
                let flipped = mover.flip(place, &mut |_| ControlFlow::Continue(())).await;
                if flipped.is_ok() {
                    place = place.opposite();
                }
            }
        });
        let watches = std::sync::Mutex::default();
        Ok(Self { places, flipping, watches, _folder: folder, _database: database })
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        self.flipping.abort();
    }
}

#[async_trait]
impl ScratchStore for Pair {
    async fn open(&self) -> Result<Store, Problem> {
        let own = self.places.open("own").await?;
        let store = RelocatingStore::start(own, Arc::new(self.places.clone())).await?;
        self.watches.lock().unwrap().push(Watch::start(&store));
        Ok(Store::new(store))
    }
}

fn unsupported(capability: Capability) -> Option<&'static str> {
    match capability {
        Capability::Archive | Capability::Handover => Some("a move is on"),
        Capability::Outage => Some("what becomes of it depends on the store"),
        Capability::Reopen => Some("the flips go on meanwhile"),
        Capability::SecondHandle | Capability::Version => None,
    }
}

/// A store in memory and a SQLite file.
mod memory_and_sqlite {
    use super::{
        Arc, Capability, Harness, MemoryStore, Pair, Problem, ScratchStore, async_trait,
        unsupported,
    };

    struct Stores;

    #[async_trait]
    impl Harness for Stores {
        async fn fresh(&self) -> Result<Box<dyn ScratchStore>, Problem> {
            Ok(Box::new(Pair::new(Some(Arc::new(MemoryStore::new())), None).await?))
        }

        fn unsupported(&self, capability: Capability) -> Option<&'static str> {
            unsupported(capability)
        }
    }

    petstore_conformance::conformance_tests!(Stores);
}

/// A SQLite file and a PostgreSQL database.
mod sqlite_and_postgres {
    use super::{
        Capability, Harness, Pair, Problem, ScratchStore, async_trait, postgres_or_skip,
        unsupported,
    };

    struct Stores;

    #[async_trait]
    impl Harness for Stores {
        async fn fresh(&self) -> Result<Box<dyn ScratchStore>, Problem> {
            let database = postgres_or_skip("conformance").ok_or("no PostgreSQL")?;
            Ok(Box::new(Pair::new(None, Some(database)).await?))
        }

        fn unsupported(&self, capability: Capability) -> Option<&'static str> {
            unsupported(capability)
        }
    }

    petstore_conformance::conformance_tests!(Stores; #[petstore_testing::needs(postgres)]);
}

/// Without a watch, a service notices a flip by the stores alone.
#[tokio::test(flavor = "multi_thread")]
async fn a_read_after_a_flip_that_was_not_noticed_sees_what_was_added_since() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("petstore.db");
    let file = SqliteConfig { path, synchronous: Synchronous::Normal };
    let memory = Some(Arc::new(MemoryStore::new()));
    let places = Places { memory, file, database: None };
    let [own, other] = ["own", "other"].map(|url| (places.clone(), url.to_owned()));
    let sides = (own.0.open("own").await.unwrap(), other.0.open("other").await.unwrap());
    let mut mover = Mover::new((sides.0.clone(), own.1), (sides.1, other.1), str::to_owned);
    mover.begin().await.unwrap();
    let opener = Arc::new(places);
    let one = RelocatingStore::start(sides.0.clone(), opener.clone()).await.unwrap();
    let another = RelocatingStore::start(sides.0, opener).await.unwrap();
    for place in [Place::Other, Place::Own, Place::Other] {
        mover.flip(place, &mut |_| ControlFlow::Continue(())).await.unwrap();
        let name = PetName::parse("Rex").unwrap();
        let rex = NewPet { name, category_id: CategoryId(1), status: None };
        let added = PetRepository::add(&*one, rex, None).await.unwrap();
        let Added::Created(pet) = added else { return };
        let found = another.find(pet.id).await.unwrap().map(|found| found.value);
        assert_eq!(found, Some(pet));
    }
}
