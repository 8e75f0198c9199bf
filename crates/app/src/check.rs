//! The command `check`: what the kind of store says of itself, and every row, read through the ports.

use clap::Args;
use petstore_domain::{Archive, Finding, Severity, StoreCounts, StoreError, StoredKeys, load_keys};

use crate::{
    cli::store_arg::StoreArgs,
    console::{Console, Output},
    driver::{OpenMode, OpenStore},
    failure::{Failure, one_line_of},
    progress::{Of, Progress},
    signals::Signals,
    store::with_store,
};

/// Rows that are read at a time.
const BATCH: u32 = 5_000;
/// Corrupt API keys that are named; the rest are counted.
const MAX_NAMED: usize = 10;

/// Examines a store.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Examines the store. Nothing is written to it.
pub(crate) async fn run(CheckArgs { store }: CheckArgs) -> Result<(), Failure> {
    let signals = Signals::take_over()?;
    let location = &*store.store.0;
    let is_open = async |store: &OpenStore| store.require_open(location).await;
    with_store(location, OpenMode::ReadOnly, is_open).await?;
    let mut findings = location.inspect().await.map_err(Failure::runtime)?;
    let rows =
        with_store(location, OpenMode::ReadOnly, async |store| read_rows(store, &signals).await);
    findings.extend(rows.await?);
    report(&findings, &location.to_string(), &mut Console)
}

async fn read_rows(store: &OpenStore, signals: &Signals) -> Result<Vec<Finding>, Failure> {
    let keys = match load_keys(&*store.keys).await {
        Ok(stored) => keys(&stored),
        Err(error) => Finding::fault("API keys", error.to_string()),
    };
    let Some(archive) = &store.archive else {
        let why = "not read one by one: this kind of store has no archive";
        return Ok(vec![keys, Finding::warning("animals", why)]);
    };
    let animals = match read_archive(&**archive, signals).await {
        Ok(counts) => animals(&counts),
        Err(_) if signals.stop_asked() => {
            return Err(Failure::runtime("stopped before everything was examined"));
        }
        Err(error) => Finding::fault("animals", error.to_string()),
    };
    Ok(vec![keys, animals])
}

/// Reads every animal and every idempotency record: each passes the domain's rules, or is the error.
async fn read_archive(archive: &dyn Archive, signals: &Signals) -> Result<StoreCounts, StoreError> {
    let mut snapshot = archive.snapshot().await?;
    let counts = snapshot.counts().await?;
    let stopped = || {
        if signals.stop_asked() { Err(StoreError::unavailable("stopped")) } else { Ok(()) }
    };
    let mut progress = Progress::new();
    let (mut last, mut done) = (None, 0);
    loop {
        progress.at("reading", done, Of::Exactly(counts.pets));
        stopped()?;
        let batch = snapshot.pets(last, BATCH).await?;
        let Some(pet) = batch.last() else { break };
        last = Some(pet.id);
        done += batch.len() as u64;
    }
    let mut last = None;
    loop {
        stopped()?;
        let batch = snapshot.idempotency_records(last, BATCH).await?;
        let Some(record) = batch.last() else { break };
        last = Some(record.id);
    }
    Ok(StoreCounts { pets: done, ..counts })
}

fn animals(counts: &StoreCounts) -> Finding {
    let StoreCounts { pets, idempotency_records, .. } = counts;
    let detail =
        format!("{pets} read, and {idempotency_records} idempotency records; each is valid");
    Finding::good("animals", detail)
}

fn keys(StoredKeys { keys, corrupt, .. }: &StoredKeys) -> Finding {
    if corrupt.is_empty() {
        return Finding::good("API keys", format!("{} read; each is valid", keys.len()));
    }
    let named = corrupt.iter().take(MAX_NAMED).map(|corrupt| corrupt.corruption.to_string());
    let named = named.collect::<Vec<_>>().join("; ");
    let more = match corrupt.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let remedy = "the service refuses them: repair or delete their rows";
    Finding::fault("API keys", format!("{named}{more}; {remedy}"))
}

/// A line for each finding, and a verdict.
fn report(findings: &[Finding], location: &str, out: &mut impl Output) -> Result<(), Failure> {
    let lines: String = findings.iter().map(line).collect();
    out.print(&lines)?;
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let verdict = match (count(Severity::Fault), count(Severity::Warning)) {
        (0, 0) => format!("the store is sound: {location}\n"),
        (0, warnings) => format!("the store is sound, with {warnings} warnings: {location}\n"),
        (faults, _) => {
            return Err(Failure::runtime(format!("{faults} faults were found in {location}")));
        }
    };
    out.print(&verdict)
}

fn line(Finding { subject, severity, detail }: &Finding) -> String {
    let word = match severity {
        Severity::Good => "ok",
        Severity::Warning => "warning",
        Severity::Fault => "FAULT",
    };
    format!("{word:<8} {subject:<11} {}\n", one_line_of(detail))
}

#[cfg(test)]
mod tests {
    use petstore_domain::{
        CorruptKey, Corruption, Finding, Fingerprint, IdempotencyId, IdempotencyRecord,
        MockArchive, MockSnapshot, PetId, Severity, StoreCounts, StoreError, StoredKeys, Timestamp,
    };

    use super::{keys, read_archive, report};
    use crate::{console::tests::Recorded, signals::Signals};

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
        snapshot.expect_idempotency_records().returning(move |after, _| match after {
            None => Ok(vec![record(1)]),
            Some(_) => Err(corrupt()),
        });
        let mut archive = MockArchive::new();
        archive.expect_snapshot().return_once(|| Ok(Box::new(snapshot)));
        let read = read_archive(&archive, &Signals::take_over().unwrap()).await;
        assert!(matches!(read, Err(StoreError::Corrupt(_))), "{read:?}");
    }

    #[test]
    fn a_fault_fails_the_check_and_a_warning_does_not() {
        let good = Finding::good("schema", "version 5");
        let warning = Finding::warning("durability", "synchronous is 1");
        let fault = Finding::fault("indexes", "missing\npet_sold");
        let mut out = Recorded::default();
        report(&[good.clone(), warning.clone()], "sqlite:a", &mut out).unwrap();
        assert_eq!(
            out.answers,
            "ok       schema      version 5\n\
             warning  durability  synchronous is 1\n\
             the store is sound, with 1 warnings: sqlite:a\n"
        );
        let mut out = Recorded::default();
        let failure = report(&[good, warning, fault], "sqlite:a", &mut out).unwrap_err();
        assert_eq!(failure.to_string(), "1 faults were found in sqlite:a");
        assert!(out.answers.ends_with("FAULT    indexes     missing\\npet_sold\n"));
    }

    #[test]
    fn each_corrupt_key_is_named_up_to_a_limit() {
        let corrupt = (1..=12).map(|id| Corruption::new(format_args!("API key {id}"), "a rule"));
        let corrupt =
            corrupt.map(|corruption| CorruptKey { id: None, name: None, corruption }).collect();
        let finding = keys(&StoredKeys { corrupt, ..vec![].into() });
        assert_eq!(finding.severity, Severity::Fault);
        assert!(finding.detail.contains("API key 10") && !finding.detail.contains("API key 11"));
        assert!(finding.detail.contains("and 2 more"), "{}", finding.detail);
    }
}
