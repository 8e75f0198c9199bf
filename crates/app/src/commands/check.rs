//! The command `check`: the store's own inspection, and a read of every row through the ports.

#[cfg(test)]
mod tests;

use std::{collections::HashSet, mem};

use petstore_domain::{
    Archive, PageLimit, Pet, PetId, PetQuery, PetRepository, PetStatus, StoreError, StoredKeys,
    load_keys,
};
use petstore_storage::{Finding, Severity};

use crate::{
    commands::keys::names,
    stores::{OpenMode, OpenStore, StoreArgs, StoreLocation, with_store},
    system::{Console, Failure, Output, Progress, Signals, count, one_line_of},
};

/// The number of rows read at a time.
const BATCH: u32 = 5_000;
/// The number of times that a missing animal is looked up again in the list of its status.
const ATTEMPTS: usize = 3;

/// Examines the store and prints the findings. Writes nothing to the store.
pub(crate) async fn run(StoreArgs { store }: StoreArgs) -> Result<(), Failure> {
    let signals = Signals::take_over()?;
    let location = &*store.location;
    let findings = examine(location, &signals).await?;
    report(&findings, &location.to_string(), &mut Console)
}

/// Returns the findings of a store. Refuses a store that was handed over or is being filled.
pub(crate) async fn examine(
    location: &dyn StoreLocation,
    signals: &Signals,
) -> Result<Vec<Finding>, Failure> {
    with_store(location, OpenMode::ReadOnly, async |store| {
        store.require_open(location).await?;
        let findings = location.inspect().await.map_err(Failure::of_store)?;
        let rows = signals.stop.run_until_cancelled(read_rows(store)).await;
        let stopped = || Failure::runtime("stopped before everything was examined");
        Ok(findings.into_iter().chain(rows.ok_or_else(stopped)?).collect())
    })
    .await
}

async fn read_rows(store: &OpenStore) -> [Finding; 2] {
    let keys = match load_keys(&*store.keys).await {
        Ok(stored) => keys(&stored),
        Err(error) => Finding::error("API keys", error.to_string()),
    };
    let animals = if let Some(archive) = &store.archive {
        read_archive(&**archive, &*store.pets).await
    } else {
        let why = "not read one by one: this kind of store has no archive";
        Ok(Finding::warning("animals", why))
    };
    [keys, animals.unwrap_or_else(|error| Finding::error("animals", error.to_string()))]
}

/// Reads every animal and every idempotency record, which checks them by the rules of the domain. Names the first animal
/// that is missing in the list of its status.
async fn read_archive(
    archive: &dyn Archive,
    pets: &dyn PetRepository,
) -> Result<Finding, StoreError> {
    let mut snapshot = archive.snapshot().await?;
    let counts = snapshot.counts().await?;
    let mut progress = Progress::of("animals");
    let (mut last, mut done, mut unlisted) = (None, 0, None);
    loop {
        progress.at("reading", done, counts.pets);
        let batch = snapshot.pets(last, BATCH).await?;
        let Some(pet) = batch.last() else { break };
        if unlisted.is_none() {
            unlisted = find_unlisted(pets, last, &batch).await?;
        }
        last = Some(pet.id);
        done += batch.len() as u64;
    }
    let mut last = None;
    while let Some(record) = snapshot.records(last, BATCH).await?.last() {
        last = Some(record.position());
    }
    let read = format!("{done} read, and {} idempotency records", counts.records);
    if let Some((id, status)) = unlisted {
        let fault = format!("{read}; {id} is not in the list of {status}");
        return Ok(Finding::error("animals", fault));
    }
    Ok(Finding::ok("animals", format!("{read}; each is valid, and in the list of its status")))
}

/// Returns the first animal of `batch` that is missing in the list of its status. `after` is the last identifier
/// before `batch`.
///
/// `batch` is from a snapshot, and the lists are live: a missing animal may have been changed or deleted since. So each
/// missing animal is read again, and then looked up in the list of its present status, [`ATTEMPTS`] times.
async fn find_unlisted(
    pets: &dyn PetRepository,
    after: Option<PetId>,
    batch: &[Pet],
) -> Result<Option<(PetId, PetStatus)>, StoreError> {
    let statuses = batch.iter().filter_map(|pet| Some((pet.id, pet.status?)));
    let mut missing: HashSet<_> = statuses.collect();
    for _ in 0..=ATTEMPTS {
        for status in PetStatus::ALL {
            let end = missing.iter().filter(|(_, it)| *it == status).map(|(id, _)| *id).max();
            let mut query = PetQuery { limit: PageLimit::MAX, status: Some(status), after };
            while query.after < end {
                let page = pets.list(query).await?.value;
                for pet in &page.pets {
                    missing.remove(&(pet.id, status));
                }
                query.after =
                    page.pets.last().filter(|_| page.more).map_or(end, |pet| Some(pet.id));
            }
        }
        for (id, _) in mem::take(&mut missing) {
            let pet = pets.find(id).await?.value;
            missing.extend(pet.and_then(|pet| Some((id, pet.status?))));
        }
    }
    Ok(missing.into_iter().min_by_key(|(id, _)| *id))
}

fn keys(StoredKeys { keys, corrupt, .. }: &StoredKeys) -> Finding {
    if corrupt.is_empty() {
        return Finding::ok("API keys", format!("{} read; each is valid", keys.len()));
    }
    let remedy = "the service refuses them: repair or delete their rows";
    Finding::error("API keys", format!("{}; {remedy}", names(corrupt)))
}

/// Prints one line for each finding, and the verdict that the store is sound. If there is a fault, the verdict is the
/// returned failure.
fn report(findings: &[Finding], location: &str, out: &mut impl Output) -> Result<(), Failure> {
    let lines: String = findings.iter().map(line).collect();
    let number = |severity| findings.iter().filter(|it| it.severity == severity).count() as u64;
    let (faults, warnings) = (number(Severity::Error), number(Severity::Warning));
    if faults > 0 {
        out.show(&lines)?;
        let were = if faults == 1 { "was" } else { "were" };
        let faults = count(faults, "fault");
        return Err(Failure::runtime(format!("{faults} {were} found in {location}")));
    }
    let with = (warnings > 0).then(|| format!(", with {}", count(warnings, "warning")));
    out.show(&format!("{lines}the store is sound{}: {location}\n", with.unwrap_or_default()))
}

fn line(Finding { subject, severity, detail }: &Finding) -> String {
    let word = match severity {
        Severity::Ok => "ok",
        Severity::Warning => "warning",
        Severity::Error => "FAULT",
    };
    format!("{word:<8} {subject:<11} {}\n", one_line_of(detail))
}
