//! The alerts and the dashboard of `docs/deploy/prometheus`, and the metrics that they use.

use std::{
    collections::BTreeSet,
    path::Path,
    process::{Command, Stdio},
};

use petstore_testing::{find_program, needs};

use super::Watched;
use crate::support::{
    catalogue::{add, id_of, pet},
    command::{complete, finish, spawn},
    store::{Kind, Store},
    tls::Pair,
    wait,
};

const ALERTS: &str = include_str!("../../../../docs/deploy/prometheus/alerts.yml");
const CASES: &str = include_str!("../../../../docs/deploy/prometheus/alerts.test.yml");
const DASHBOARD: &str = include_str!("../../../../docs/deploy/prometheus/grafana-dashboard.json");

fn promtool(arguments: &[&str]) -> Command {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/deploy/prometheus");
    let mut command = Command::new(find_program("promtool").unwrap());
    command.args(arguments).current_dir(folder);
    command
}

/// Returns the metrics that the alerts and the dashboard use.
fn named() -> BTreeSet<&'static str> {
    let is_part = |part: char| part.is_ascii_alphanumeric() || part == '_';
    let words = [ALERTS, DASHBOARD].into_iter().flat_map(|text| text.split(|c| !is_part(c)));
    let named =
        words.filter(|word| ["petstore_", "process_"].iter().any(|of| word.starts_with(of)));
    named.map(|name| name.strip_suffix("_bucket").unwrap_or(name)).collect()
}

/// Waits until a service serves each metric in `names`. A size must be at least 4 KiB, so that an unknown size fails.
fn are_served<'a>(watched: &Watched, names: impl Iterator<Item = &'a str>) {
    for name in names {
        let is_size = ["_database_bytes", "_wal_bytes"].iter().any(|end| name.ends_with(end));
        wait::until(name, || {
            let scrape = watched.scrape();
            scrape.has(name) && (!is_size || scrape.value(name) >= 4096.0)
        });
    }
}

#[test]
fn the_metrics_of_the_alerts_are_served() {
    let (folder, store) = (tempfile::tempdir().unwrap(), Store::sqlite());
    store.keys(&["create", "brief", "--expires", "30d"]).succeeds();
    let files = Pair::new().write(folder.path());
    let watched = Watched::with(store, |launch| launch.tls(&files));
    let mut named = named();
    assert!(named.len() > 20, "{named:?}");
    named.retain(|name| {
        let others = ["petstore_postgres_", "petstore_etcd_", "petstore_backup_"];
        !others.iter().any(|of| name.starts_with(of))
    });
    // Another process writes to the store, so the write-ahead log is not empty.
    watched.store.new_key("written");
    are_served(&watched, named.into_iter());
}

#[needs(postgres, etcd)]
#[test]
fn the_metrics_of_the_alerts_of_each_store_are_served() {
    let named = named();
    for (prefix, kind) in [("petstore_postgres_", Kind::Postgres), ("petstore_etcd_", Kind::Etcd)] {
        let of_store = named.iter().copied().filter(|name| name.starts_with(prefix));
        assert_ne!(of_store.clone().count(), 0);
        are_served(&Watched::start(kind), of_store);
    }
}

#[test]
fn each_alert_links_its_part_of_the_runbook() {
    let runbook = include_str!("../../../../docs/OPERATING.md");
    let mut parts = BTreeSet::new();
    for alert in ALERTS.split("- alert: ").skip(1) {
        let name = alert.lines().next().unwrap();
        let link = alert.lines().find_map(|line| line.trim().strip_prefix("runbook_url: "));
        let (_, anchor) =
            link.unwrap_or_else(|| panic!("{name} has no runbook_url")).split_once('#').unwrap();
        assert_eq!(anchor, name.to_lowercase());
        parts.insert(name);
    }
    let described = runbook.lines().filter_map(|line| line.strip_prefix("#### "));
    assert_eq!(parts, described.filter(|part| part.starts_with("Petstore")).collect());
}

#[test]
fn a_dependent_alert_is_inhibited() {
    let rules = include_str!("../../../../docs/deploy/prometheus/alertmanager.yml");
    let names = rules.split(|part: char| !part.is_ascii_alphanumeric());
    let names: Vec<_> = names.filter(|word| word.starts_with("Petstore")).collect();
    for name in &names {
        assert!(ALERTS.contains(&format!("- alert: {name}\n")), "there is no alert {name}");
    }
    // A store that cannot be reached fires these alerts too.
    let (_, rule) = rules.split_once("'alertname=\"PetstoreNotReady\"'").unwrap();
    let rule = rule.split("source_matchers").next().unwrap();
    for name in ["PetstoreStoreErrors", "PetstoreFailing"] {
        assert!(rule.contains(name), "{name}: {rule}");
    }
}

#[test]
fn each_alert_has_a_firing_case_and_a_silent_case() {
    let alerts = ALERTS.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    let alerts: BTreeSet<_> = alerts.collect();
    assert!(alerts.len() > 10, "{alerts:?}");
    let cases = CASES.split("alertname: ").skip(1).map(|case| {
        let name = case.split(|end: char| !end.is_alphanumeric()).next().unwrap();
        let fires = case.contains("exp_labels:");
        assert!(fires || case.contains("exp_alerts: []"), "{case}");
        (name, fires)
    });
    let cases: BTreeSet<_> = cases.collect();
    let expected = alerts.iter().flat_map(|alert| [(*alert, true), (*alert, false)]);
    assert_eq!(cases, expected.collect());
}

#[needs(promtool)]
#[test]
fn each_alert_fires_when_it_should_and_only_then() {
    for arguments in [["check", "rules", "alerts.yml"], ["test", "rules", "alerts.test.yml"]] {
        complete(&mut promtool(&arguments)).succeeds();
    }
}

/// Returns the metrics of a service after some requests.
fn used() -> String {
    let watched = Watched::start(Kind::Sqlite);
    let client = watched.server.client();
    let id = id_of(&add(&client, &pet("checked")));
    client.get(&format!("/v1/pets/{id}")).send();
    client.get("/v1/pets").anonymous().send();
    watched.ask("GET", "/metrics").2
}

#[test]
fn every_metric_is_documented() {
    let documented = include_str!("../../../../docs/OPERATING.md");
    for family in used().lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let name = family.split(' ').next().unwrap();
        assert!(documented.contains(&format!("`{name}`")), "{name} is not in docs/OPERATING.md");
    }
    for name in named() {
        assert!(documented.contains(&format!("`{name}`")), "{name} is not in docs/OPERATING.md");
    }
}

#[needs(promtool)]
#[test]
fn promtool_accepts_the_metrics() {
    let mut promtool = promtool(&["check", "metrics"]);
    promtool.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = finish(spawn(&mut promtool), &used());
    assert_eq!(run.stderr, "");
    assert_eq!(run.succeeds(), "");
}
