//! The command `backup`.

use std::{fs, ops::ControlFlow};

use bytesize::ByteSize;

use crate::{
    cli::BackupArgs,
    console::{Console, Output as _, stdout_failed},
    failure::Failure,
    partial_file::{Access, IfExists, PartialFile},
    progress::{Of, Progress},
    signals::Signals,
};

/// Writes a copy of the store, as it is at one moment, to a new file.
pub(crate) async fn run(BackupArgs { to, store }: BackupArgs) -> Result<(), Failure> {
    let signals = Signals::take_over()?;
    let location = &store.store.0;
    let if_exists = IfExists::Refuse("a backup replaces no file: name another");
    // It holds digests of API keys, so it is its owner's alone, like the store.
    let file = PartialFile::begin(&to, if_exists, Access::OwnerOnly)?;
    let (mut progress, stop) = (Progress::counting("pages"), signals.clone());
    let watch = move |done, total| {
        progress.at("backing up", done, Of::Exactly(total));
        if stop.stop_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let done = location.back_up(file.temporary(), Box::new(watch)).await;
    done.map_err(|problem| {
        let stopped = signals.stop_asked().then(|| "stopped; no backup was made".into());
        Failure::runtime(stopped.unwrap_or(problem))
    })?;
    let size = fs::metadata(file.temporary()).map_or(0, |metadata| metadata.len());
    let place = file.finish()?;
    let answer = format!(
        "backed up {location} to {place}: {}, read again and found sound\n",
        ByteSize(size).display().iec()
    );
    Console.answer(&answer).map_err(|error| stdout_failed(&error))
}
