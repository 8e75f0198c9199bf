//! The commands `store move` and `store release`.

use std::{sync::Arc, time::Duration};

use petstore_domain::StoreId;
use petstore_transfer::{Mover, cancel, release};

use crate::{
    cli::{BothStores, MoveArgs, ReleaseArgs},
    clock::SystemClock,
    console::{Console, Output as _},
    driver::OpenMode,
    failure::Failure,
    progress::Progress,
    signals::Signals,
    store::{note_if_made, refuse_same, with_store},
};

/// Hands a store over to another one, or gives that up.
pub(super) async fn run(args: MoveArgs) -> Result<(), Failure> {
    let MoveArgs { stores: BothStores { from, to }, cancel: gives_up } = args;
    let signals = Signals::take_over()?;
    refuse_same(&*from.0, &*to.0).await?;
    let target_mode = if gives_up { OpenMode::ReadWrite } else { OpenMode::Create };
    with_store(&*from.0, OpenMode::ReadWrite, async |source| {
        with_store(&*to.0, target_mode, async |target| {
            note_if_made(target, &mut Console);
            let source = source.side(&*from.0).map_err(Failure::runtime)?;
            let target = target.side(&*to.0).map_err(Failure::runtime)?;
            if gives_up {
                cancel(&source, &target).await.map_err(Failure::runtime)?;
                return Console.print(&format!("{} is open, and nothing is handed over\n", from.0));
            }
            let mover = Mover::new(source, target, Arc::new(SystemClock));
            let mut progress = Progress::new();
            let done = mover.run(&mut |state| progress.watch(state, &signals)).await;
            drop(progress);
            let paused = done.map_err(Failure::runtime)?.as_ref().map_or(0, Duration::as_millis);
            Console.print(&format!(
                "{} was handed over to {}, and writes waited {paused} ms; restart services with --store {}\n",
                from.0, to.0, to.0
            ))
        })
        .await
    })
    .await
}

/// Makes a store of its own of one that was handed over, or is being filled.
pub(super) async fn run_release(ReleaseArgs { url, force }: ReleaseArgs) -> Result<(), Failure> {
    let location = &*url.0;
    if !force {
        return Err(Failure::usage(format!(
            "{location} may hold less than the store that it belongs to; --force opens it all the same"
        )));
    }
    with_store(location, OpenMode::ReadWrite, async |store| {
        let side = store.side(location).map_err(Failure::runtime)?;
        let mut id = [0; 16];
        getrandom::fill(&mut id)
            .map_err(|error| Failure::runtime(format!("no random bytes: {error}")))?;
        let released = release(&*side.handover, StoreId(id)).await.map_err(Failure::runtime)?;
        if !released {
            return Err(Failure::runtime("its state was changed meanwhile; run it again"));
        }
        Console.print(&format!("{location} is a store of its own now, and open\n"))
    })
    .await
}
