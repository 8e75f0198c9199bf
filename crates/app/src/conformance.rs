//! The command `conformance`: every promise of the storage ports, on throw-away stores of one kind.

mod schemas;
mod scratch;

#[cfg(test)]
mod tests;

use std::{io, sync::Arc};

use async_trait::async_trait;
use petstore_conformance::{
    Capability, Harness, Problem, Promise, ScratchStore, Summary, Verdict, run_all,
};

use self::{schemas::Schemas, scratch::Scratch};
use crate::{
    cli::ConformanceArgs,
    console::{Console, Output, stdout_failed},
    failure::{Failure, one_line_of},
    signals::Signals,
    store::Store,
    store_url::StoreUrl,
};

/// Runs the command.
pub(crate) async fn run(ConformanceArgs { store }: ConformanceArgs) -> Result<(), Failure> {
    let signals = Signals::take_over()?;
    let kind = Arc::new(Kind::of(&store)?);
    let harness: Arc<dyn Harness> = kind.clone();
    let mut out = Console;
    let done = tokio::select! {
        done = check(&harness, &mut out) => done,
        () = signals.stop() => Err(Failure::runtime("stopped before every promise was checked")),
    };
    done.and(kind.clean_up().await)
}

/// Says of each promise what became of it, and at the end of all.
async fn check(kind: &Arc<dyn Harness>, out: &mut (impl Output + Send)) -> Result<(), Failure> {
    let mut said = Ok(());
    let mut report = |promise: &Promise, verdict: &Verdict| {
        let line = format!("{}: {}\n", promise.name, one_line_of(&verdict.to_string()));
        if said.is_ok() {
            said = out.answer(&line);
        }
    };
    let summary = run_all(kind, &mut report).await;
    judge(&summary, said, out)
}

fn judge(summary: &Summary, said: io::Result<()>, out: &mut impl Output) -> Result<(), Failure> {
    said.and_then(|()| out.answer(&format!("{summary}\n")))
        .map_err(|error| stdout_failed(&error))?;
    if summary.holds() {
        Ok(())
    } else if summary.broken > 0 {
        Err(Failure::runtime("the store breaks the contract"))
    } else {
        Err(Failure::runtime("no promise was checked"))
    }
}

/// Stores of one kind.
enum Kind {
    Memory,
    /// Each in a file of its own, with the settings of this URL.
    Sqlite(Scratch, StoreUrl),
    /// Each in a schema of its own.
    Postgres(Box<Schemas>),
}

impl Kind {
    fn of(url: &StoreUrl) -> Result<Self, Failure> {
        match url {
            StoreUrl::Memory => Ok(Self::Memory),
            StoreUrl::Sqlite { path, .. } => Ok(Self::Sqlite(Scratch::beside(path)?, url.clone())),
            StoreUrl::Postgres(config) => Ok(Self::Postgres(Box::new(Schemas::of(config)))),
        }
    }

    /// Removes what does not go by itself.
    async fn clean_up(&self) -> Result<(), Failure> {
        match self {
            Self::Memory | Self::Sqlite(..) => Ok(()),
            Self::Postgres(schemas) => schemas.drop_all().await,
        }
    }
}

#[async_trait]
impl Harness for Kind {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, Problem> {
        match self {
            Self::Memory => Ok(Box::new(Lot { url: StoreUrl::Memory, _scratch: None })),
            Self::Sqlite(scratch, url) => {
                let scratch = scratch.inner()?;
                let url = at(url, &scratch);
                Ok(Box::new(Lot { url, _scratch: Some(scratch) }))
            }
            Self::Postgres(schemas) => {
                let url = StoreUrl::Postgres(Box::new(schemas.another()?));
                Ok(Box::new(Lot { url, _scratch: None }))
            }
        }
    }

    fn unsupported(&self, capability: Capability) -> Option<&'static str> {
        let lasting = !matches!(self, Self::Memory);
        match capability {
            Capability::Reopen | Capability::SecondHandle => {
                (!lasting).then_some("a store in memory ends with its only handle")
            }
            Capability::Outage => Some("this command takes no store out of reach"),
            Capability::Version | Capability::Archive => None,
        }
    }
}

/// The same settings for a file in `scratch`.
fn at(url: &StoreUrl, scratch: &Scratch) -> StoreUrl {
    match url {
        StoreUrl::Sqlite { synchronous, .. } => {
            let path = scratch.path().join("petstore.db");
            StoreUrl::Sqlite { path, synchronous: *synchronous }
        }
        StoreUrl::Memory | StoreUrl::Postgres(_) => url.clone(),
    }
}

/// Where one throw-away store lies.
struct Lot {
    url: StoreUrl,
    /// Removed with this value.
    _scratch: Option<Scratch>,
}

#[async_trait]
impl ScratchStore for Lot {
    async fn open(&self) -> Result<petstore_conformance::Store, Problem> {
        let store = Store::open(&self.url).await.map_err(|failure| failure.to_string())?;
        Ok(petstore_conformance::Store {
            pets: store.pets.clone(),
            keys: store.keys.clone(),
            archive: Some(store.archive.clone()),
        })
    }
}
