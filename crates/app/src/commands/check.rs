//! The command `check`: what the kind of store says of itself, and every row, read through the ports.

use std::collections::BTreeSet;

use clap::Args;
use petstore_domain::{
    Archive, PageLimit, Pet, PetId, PetQuery, PetRepository, PetStatus, StoreCounts, StoreError,
    StoredKeys, load_keys,
};
use petstore_storage::{Finding, Severity};

use crate::{
    commands::keys::names,
    stores::{
        StoreArgs,
        driver::{OpenMode, OpenStore, StoreLocation},
        opening::with_store,
    },
    system::{
        console::{Console, Output},
        failure::{Failure, count, one_line_of},
        process::Signals,
        progress::Progress,
    },
};

/// The number of rows read at a time.
const BATCH: u32 = 5_000;
/// The number of unlisted animals after which the check looks for no more.
const MAX_UNLISTED: usize = 100;
/// How often an animal is looked up in the list of its status.
const ATTEMPTS: usize = 3;

/// Examines a store.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Examines the store. Nothing is written to it.
pub(crate) async fn run(CheckArgs { store }: CheckArgs) -> Result<(), Failure> {
    let signals = Signals::take_over()?;
    let location = &*store.store.location;
    let findings = examine(location, &signals).await?;
    report(&findings, &location.to_string(), &mut Console)
}

/// Returns what there is to say of the store, which must be open.
pub(crate) async fn examine(
    location: &dyn StoreLocation,
    signals: &Signals,
) -> Result<Vec<Finding>, Failure> {
    with_store(location, OpenMode::ReadOnly, async |store| {
        store.require_open(location).await?;
        let mut findings = location.inspect().await.map_err(Failure::of_store)?;
        findings.extend(read_rows(store, signals).await?);
        Ok(findings)
    })
    .await
}

async fn read_rows(store: &OpenStore, signals: &Signals) -> Result<Vec<Finding>, Failure> {
    let keys = match load_keys(&*store.keys).await {
        Ok(stored) => keys(&stored),
        Err(error) => Finding::error("API keys", error.to_string()),
    };
    let Some(archive) = &store.archive else {
        let why = "not read one by one: this kind of store has no archive";
        return Ok(vec![keys, Finding::warning("animals", why)]);
    };
    let animals = match read_archive(&**archive, &*store.pets, signals).await {
        Ok((counts, unlisted)) => animals(&counts, &unlisted),
        Err(_) if signals.stop_asked() => {
            return Err(Failure::runtime("stopped before everything was examined"));
        }
        Err(error) => Finding::error("animals", error.to_string()),
    };
    Ok(vec![keys, animals])
}

/// Animals that the list of their status lacks.
type Unlisted = Vec<(PetId, PetStatus)>;

/// Reads every animal and every idempotency record: each passes the domain's rules, or is the error.
/// Also returns the animals that the list of their status lacks.
async fn read_archive(
    archive: &dyn Archive,
    pets: &dyn PetRepository,
    signals: &Signals,
) -> Result<(StoreCounts, Unlisted), StoreError> {
    let mut snapshot = archive.snapshot().await?;
    let counts = snapshot.counts().await?;
    let stopped = || {
        if signals.stop_asked() { Err(StoreError::unavailable("stopped")) } else { Ok(()) }
    };
    let mut progress = Progress::of("animals");
    let (mut last, mut done, mut unlisted) = (None, 0, Unlisted::new());
    loop {
        progress.at("reading", done, counts.pets);
        stopped()?;
        let batch = snapshot.pets(last, BATCH).await?;
        let Some(pet) = batch.last() else { break };
        if unlisted.len() < MAX_UNLISTED {
            unlisted.extend(find_unlisted(archive, pets, last, &batch).await?);
        }
        last = Some(pet.id);
        done += batch.len() as u64;
    }
    let mut last = None;
    loop {
        stopped()?;
        let batch = snapshot.records(last, BATCH).await?;
        let Some(record) = batch.last() else { break };
        last = Some(record.position());
    }
    Ok((StoreCounts { pets: done, ..counts }, unlisted))
}

/// Returns animals after `after` that the list of their status lacks, at most `MAX_UNLISTED`.
///
/// `batch` is from a snapshot, and the lists are live. An animal that a list lacks may have been changed or deleted since
/// the snapshot. So it counts only if a second snapshot has it too, and if the list lacks it whenever it is looked up.
async fn find_unlisted(
    archive: &dyn Archive,
    pets: &dyn PetRepository,
    after: Option<PetId>,
    batch: &[Pet],
) -> Result<Unlisted, StoreError> {
    let (mut missing, mut unlisted) = (missing_pets(pets, after, batch).await?, Unlisted::new());
    if !missing.is_empty() {
        let mut snapshot = archive.snapshot().await?;
        let now = missing_pets(pets, after, &snapshot.pets(after, BATCH).await?).await?;
        missing.retain(|id| now.contains(id));
    }
    for id in missing {
        if unlisted.len() < MAX_UNLISTED {
            unlisted.extend(look_up(pets, id).await?);
        }
    }
    Ok(unlisted)
}

/// Returns the animals of `batch`, which are those after `after`, that the lists of their statuses lack.
async fn missing_pets(
    pets: &dyn PetRepository,
    after: Option<PetId>,
    batch: &[Pet],
) -> Result<BTreeSet<PetId>, StoreError> {
    let mut missing = BTreeSet::new();
    for status in PetStatus::ALL {
        compare_list(pets, status, after, batch, &mut missing).await?;
    }
    Ok(missing)
}

/// Walks the list of `status` from `after` to the end of `batch`, and adds the animals of `batch` that the list lacks
/// to `missing`. The list may have more animals.
async fn compare_list(
    pets: &dyn PetRepository,
    status: PetStatus,
    mut after: Option<PetId>,
    batch: &[Pet],
    missing: &mut BTreeSet<PetId>,
) -> Result<(), StoreError> {
    let mut expected = batch.iter().filter(|pet| pet.status == Some(status)).peekable();
    while expected.peek().is_some() {
        let query = PetQuery { limit: PageLimit::MAX, status: Some(status), after };
        let page = pets.list(query).await?.value;
        after = page.pets.last().map(|pet| pet.id);
        let reaches = |id: PetId| !page.more || after.is_none() || Some(id) <= after;
        while let Some(pet) = expected.next_if(|pet| reaches(pet.id)) {
            if page.pets.binary_search_by_key(&pet.id, |listed| listed.id).is_err() {
                missing.insert(pet.id);
            }
        }
    }
    Ok(())
}

/// Returns the animal if it is there and the list of its status lacks it, each time that it is looked up.
async fn look_up(
    pets: &dyn PetRepository,
    id: PetId,
) -> Result<Option<(PetId, PetStatus)>, StoreError> {
    let mut unlisted = None;
    for _ in 0..ATTEMPTS {
        let Some(status) = pets.find(id).await?.value.and_then(|pet| pet.status) else {
            return Ok(None);
        };
        let after = (id.0 > 1).then(|| PetId(id.0 - 1));
        let query = PetQuery { limit: PageLimit::MAX, status: Some(status), after };
        let page = pets.list(query).await?.value;
        if page.pets.first().is_some_and(|listed| listed.id == id) {
            return Ok(None);
        }
        unlisted = Some((id, status));
    }
    Ok(unlisted)
}

fn animals(counts: &StoreCounts, unlisted: &[(PetId, PetStatus)]) -> Finding {
    let StoreCounts { pets, records, .. } = counts;
    let read = format!("{pets} read, and {records} idempotency records");
    let Some((id, status)) = unlisted.first() else {
        let detail = format!("{read}; each is valid, and in the list of its status");
        return Finding::ok("animals", detail);
    };
    let (count, least) =
        (unlisted.len(), if unlisted.len() < MAX_UNLISTED { "" } else { "at least " });
    let detail = format!(
        "{read}; {least}{count} are not in the list of their status, first {id} of {status}"
    );
    Finding::error("animals", detail)
}

fn keys(StoredKeys { keys, corrupt, .. }: &StoredKeys) -> Finding {
    if corrupt.is_empty() {
        return Finding::ok("API keys", format!("{} read; each is valid", keys.len()));
    }
    let remedy = "the service refuses them: repair or delete their rows";
    Finding::error("API keys", format!("{}; {remedy}", names(corrupt)))
}

/// Prints a line for each finding, and a verdict.
fn report(findings: &[Finding], location: &str, out: &mut impl Output) -> Result<(), Failure> {
    let lines: String = findings.iter().map(line).collect();
    let number = |severity| findings.iter().filter(|it| it.severity == severity).count() as u64;
    let verdict = match (number(Severity::Error), number(Severity::Warning)) {
        (0, 0) => format!("the store is sound: {location}\n"),
        (0, warnings) => {
            format!("the store is sound, with {}: {location}\n", count(warnings, "warning"))
        }
        (faults, _) => {
            out.show(&lines)?;
            let were = if faults == 1 { "was" } else { "were" };
            let faults = count(faults, "fault");
            return Err(Failure::runtime(format!("{faults} {were} found in {location}")));
        }
    };
    out.show(&format!("{lines}{verdict}"))
}

fn line(Finding { subject, severity, detail }: &Finding) -> String {
    let word = match severity {
        Severity::Ok => "ok",
        Severity::Warning => "warning",
        Severity::Error => "FAULT",
    };
    format!("{word:<8} {subject:<11} {}\n", one_line_of(detail))
}

#[cfg(test)]
mod tests {
    use petstore_domain::{
        Archive, CategoryId, CorruptKey, Corruption, Fingerprint, IdempotencyId, IdempotencyRecord,
        MockArchive, MockPetRepository, MockSnapshot, NewPet, Pet, PetId, PetName, PetPage,
        PetStatus, Rows, StoreCounts, StoreError, StoredKeys, Timestamp, Versioned, WriterRole,
    };
    use petstore_storage::{Finding, Severity};

    use petstore_memory::MemoryStore;

    use super::{Unlisted, animals, keys, read_archive, report};
    use crate::system::{console::tests::Recorded, process::Signals};

    #[tokio::test]
    async fn every_batch_of_records_is_read() {
        let record = |id| IdempotencyRecord {
            id: IdempotencyId([id; 16]),
            fingerprint: Fingerprint([0; 32]),
            pet: PetId(1),
            at: Timestamp(0),
        };
        let corrupt = || StoreError::from(Corruption::new("an idempotency record", "a rule"));
        let mut snapshot = MockSnapshot::new();
        snapshot.expect_counts().returning(|| Ok(StoreCounts::default()));
        snapshot.expect_pets().returning(|_, _| Ok(Vec::new()));
        snapshot.expect_records().returning(move |after, _| match after {
            None => Ok(vec![record(1)]),
            Some(_) => Err(corrupt()),
        });
        let mut archive = MockArchive::new();
        archive.expect_snapshot().return_once(|| Ok(Box::new(snapshot)));
        let pets = MockPetRepository::new();
        let read = read_archive(&archive, &pets, &Signals::take_over().unwrap()).await;
        assert!(matches!(read, Err(StoreError::Corrupt(_))), "{read:?}");
    }

    /// Every third animal is of no status, every third is sold.
    fn pet(id: i64) -> Pet {
        let statuses = [None, Some(PetStatus::Sold), Some(PetStatus::Pending)];
        let status = statuses[usize::try_from(id % 3).unwrap()];
        let name = PetName::parse("Rex").unwrap();
        NewPet { name, category_id: CategoryId(1), status }.with_id(PetId(id))
    }

    fn answer<T>(value: T) -> Versioned<T> {
        Versioned { value, version: None }
    }

    /// Lists of the animals 1 to 999 that lack some of them, which `find` still returns.
    fn lists_without(lost: fn(i64) -> bool) -> MockPetRepository {
        let mut pets = MockPetRepository::new();
        pets.expect_find().returning(|id| Ok(answer(Some(pet(id.0)))));
        pets.expect_list().returning(move |query| {
            let mut listed = (1..=999)
                .filter(|id| !lost(*id))
                .map(pet)
                .filter(|pet| pet.status == query.status && Some(pet.id) > query.after);
            let pets = listed.by_ref().take(query.limit.get().into()).collect();
            Ok(answer(PetPage { pets, more: listed.next().is_some() }))
        });
        pets
    }

    async fn filled() -> MemoryStore {
        let store = MemoryStore::new();
        let rows = Rows { pets: (1..=999).map(pet).collect(), ..Rows::default() };
        store.write_rows(WriterRole::Service, rows).await.unwrap();
        store
    }

    #[tokio::test]
    async fn an_animal_that_the_list_of_its_status_lacks_is_a_fault() {
        let store = filled().await;
        let signals = Signals::take_over().unwrap();
        let sound = read_archive(&store, &lists_without(|_| false), &signals).await.unwrap();
        assert_eq!((sound.0.pets, &sound.1), (999, &Unlisted::new()));
        assert_eq!(animals(&sound.0, &sound.1).severity, Severity::Ok);

        // The index has lost the sold ones from 940 on, and one that is pending.
        let lists = lists_without(|id| id == 998 || id >= 940 && id % 3 == 1);
        let (counts, unlisted) = read_archive(&store, &lists, &signals).await.unwrap();
        assert_eq!(unlisted.len(), 21);
        let finding = animals(&counts, &unlisted);
        assert_eq!(finding.severity, Severity::Error);
        let expected = "; 21 are not in the list of their status, first 940 of sold";
        assert!(finding.detail.ends_with(expected), "{}", finding.detail);

        let lists = lists_without(|id| id >= 340);
        let (counts, unlisted) = read_archive(&store, &lists, &signals).await.unwrap();
        let detail = animals(&counts, &unlisted).detail;
        assert!(detail.contains("; at least 100 are not in the list"), "{detail}");
    }

    #[tokio::test]
    async fn an_animal_that_was_changed_or_deleted_since_the_snapshot_is_no_fault() {
        let store = filled().await;
        // Of the sold animals, the even ones are pending by now, and the odd ones are gone.
        let now = |id| match pet(id) {
            sold if sold.status == Some(PetStatus::Sold) => {
                (id % 2 == 0).then_some(Pet { status: Some(PetStatus::Pending), ..sold })
            }
            other => Some(other),
        };
        let mut pets = MockPetRepository::new();
        pets.expect_find().returning(move |id| Ok(answer(now(id.0))));
        pets.expect_list().returning(move |query| {
            let of_status = |pet: &Pet| pet.status == query.status && Some(pet.id) > query.after;
            let mut listed = (1..=999).filter_map(now).filter(of_status);
            let pets = listed.by_ref().take(query.limit.get().into()).collect();
            Ok(answer(PetPage { pets, more: listed.next().is_some() }))
        });
        let signals = Signals::take_over().unwrap();
        let (_, unlisted) = read_archive(&store, &pets, &signals).await.unwrap();
        assert_eq!(unlisted, Unlisted::new());
    }

    #[test]
    fn a_fault_fails_the_check_and_a_warning_does_not() {
        let good = Finding::ok("schema", "version 5");
        let warning = Finding::warning("durability", "synchronous is 1");
        let fault = Finding::error("indexes", "missing\npet_sold");
        let mut out = Recorded::default();
        report(&[good.clone(), warning.clone()], "sqlite:a", &mut out).unwrap();
        assert_eq!(
            out.answers,
            "ok       schema      version 5\n\
             warning  durability  synchronous is 1\n\
             the store is sound, with 1 warning: sqlite:a\n"
        );
        let mut out = Recorded::default();
        let failure = report(&[good, warning, fault], "sqlite:a", &mut out).unwrap_err();
        assert_eq!(failure.to_string(), "1 fault was found in sqlite:a");
        assert!(out.answers.ends_with("FAULT    indexes     missing\\npet_sold\n"));
    }

    #[test]
    fn each_corrupt_key_is_named_up_to_a_limit() {
        let corrupt = (1..=12).map(|id| Corruption::new(format_args!("API key {id}"), "a rule"));
        let corrupt =
            corrupt.map(|corruption| CorruptKey { id: None, name: None, corruption }).collect();
        let finding = keys(&StoredKeys { corrupt, ..vec![].into() });
        assert_eq!(finding.severity, Severity::Error);
        assert!(finding.detail.contains("API key 10") && !finding.detail.contains("API key 11"));
        assert!(finding.detail.contains("and 2 more"), "{}", finding.detail);
    }
}
