//! The command `store move`.

use std::{ops::ControlFlow, sync::Arc, time::Duration};

use petstore_relocation::{MoveError, MoveProgress, Mover, Place, Side};
use tokio::time::{self, Instant};

use super::status::Shown;
use crate::{
    cli::{BothStores, ListForm, MoveArgs, MoveStep},
    console::{Console, Output},
    driver::{OpenMode, OpenStore, StoreLocation},
    failure::Failure,
    progress::{Of, Progress},
    signals::Signals,
    store::{note_if_made, refuse_same, with_store},
};

/// How long the rate of a move is measured.
const RATE_TIME: Duration = Duration::from_secs(1);

/// Runs the command on the stores that it names.
pub(crate) async fn run(args: MoveArgs) -> Result<(), Failure> {
    let MoveArgs { stores: BothStores { from, to }, step, status, output } = args;
    let signals = Signals::take_over()?;
    refuse_same(&*from.0, &*to.0).await?;
    let begins = !status && matches!(step, None | Some(MoveStep::Follow));
    let target_mode = if begins { OpenMode::Create } else { OpenMode::ReadWrite };
    with_store(&*from.0, OpenMode::ReadWrite, async |source| {
        with_store(&*to.0, target_mode, async |target| {
            note_if_made(target, &mut Console);
            let registry = Arc::clone(&from.1);
            let shown = move |url: &str| {
                let location = registry.parse(url, true);
                location.map_or_else(|_| url.to_owned(), |location| location.to_string())
            };
            let mover = Mover::new(side(&*from.0, source)?, side(&*to.0, target)?, shown);
            let names = [from.0.to_string(), to.0.to_string()];
            let work = Work { mover, names, signals, progress: Progress::new() };
            if status { work.show(output).await } else { work.step(step).await }
        })
        .await
    })
    .await
}

/// The store as one side of the move, and the URL that services open it by.
fn side(location: &dyn StoreLocation, store: &OpenStore) -> Result<(Side, String), Failure> {
    let side = store.side().zip(location.full_url());
    side.ok_or_else(|| {
        Failure::runtime(format!("{location} takes part in no move: copy it with 'store copy'"))
    })
}

struct Work {
    mover: Mover,
    /// The stores without their passwords.
    names: [String; 2],
    signals: Signals,
    progress: Progress,
}

impl Work {
    async fn step(mut self, step: Option<MoveStep>) -> Result<(), Failure> {
        let done = self.try_step(step).await;
        let Self { progress, .. } = self;
        drop(progress);
        let line = done.map_err(Failure::runtime)?;
        Console.print(&line)
    }

    /// Does the step: what is said then.
    async fn try_step(&mut self, step: Option<MoveStep>) -> Result<String, MoveError> {
        match step {
            None => {
                self.mover.begin().await?;
                self.flip(Place::Other).await?;
                self.progress.note(&self.decides(Place::Other));
                self.follow().await
            }
            Some(MoveStep::Follow) => {
                self.mover.begin().await?;
                self.follow().await
            }
            Some(MoveStep::Flip) => self.flip(Place::Other).await,
            Some(MoveStep::Back) => self.flip(Place::Own).await,
            Some(MoveStep::Finish) => {
                let place = self.mover.finish().await?;
                let store = self.name(place);
                Ok(format!(
                    "the move is finished: {store} decides, and {} takes no more writes; start services \
                     with --store {store}\n",
                    self.name(place.opposite()),
                ))
            }
        }
    }

    async fn flip(&mut self, place: Place) -> Result<String, MoveError> {
        let Self { mover, signals, progress, .. } = self;
        mover.flip(place, &mut |state| watch(state, signals, progress)).await?;
        Ok(self.decides(place) + "\n")
    }

    async fn follow(&mut self) -> Result<String, MoveError> {
        let Self { mover, signals, progress, .. } = self;
        mover.follow(&mut |state| watch(state, signals, progress)).await?;
        Ok("stopped following; the same command goes on\n".to_owned())
    }

    fn decides(&self, place: Place) -> String {
        format!("{} decides", self.name(place))
    }

    fn name(&self, place: Place) -> &str {
        let [from, to] = &self.names;
        match place {
            Place::Own => from,
            Place::Other => to,
        }
    }

    /// Prints where the move stands.
    async fn show(self, form: ListForm) -> Result<(), Failure> {
        let began = Instant::now();
        let before = self.mover.status().await.map_err(Failure::runtime)?;
        time::sleep(RATE_TIME).await;
        let status = self.mover.status().await.map_err(Failure::runtime)?;
        let copied = match status.decides {
            Place::Own => status.to_highest - before.to_highest,
            Place::Other => status.from_highest - before.from_highest,
        };
        #[expect(clippy::cast_precision_loss, reason = "a rate is shown, not counted with")]
        let rate = copied as f64 / began.elapsed().as_secs_f64();
        let [from, to] = self.names;
        let shown = Shown { status, rate, from, to };
        Console.print(&shown.render(form))
    }
}

/// Shows the progress, and asks to stop when a signal has.
fn watch(state: MoveProgress, signals: &Signals, progress: &mut Progress) -> ControlFlow<()> {
    let MoveProgress { copied, highest, .. } = state;
    progress.at("following", copied.unsigned_abs(), Of::Exactly(highest.unsigned_abs()));
    if signals.stop_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
