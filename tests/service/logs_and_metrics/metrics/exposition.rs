//! The text format of Prometheus, read strictly: what `promtool check metrics` would refuse fails.

use std::collections::BTreeMap;

/// The samples of one scrape.
pub(super) struct Exposition(BTreeMap<String, f64>);

impl Exposition {
    /// Reads it, and holds that every series belongs to a family that was announced with its help and
    /// its type, that none comes twice, and that counters are called so.
    #[track_caller]
    pub(super) fn parse(text: &str) -> Self {
        assert!(text.ends_with('\n'), "{text}");
        let (mut series, mut families) = (BTreeMap::new(), Vec::new());
        let (mut helped, mut kind) = ("", "");
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, sentence) = help.split_once(' ').expect(line);
                assert!(!sentence.is_empty() && !families.contains(&name), "{line}");
                families.push(name);
                helped = name;
            } else if let Some(announced) = line.strip_prefix("# TYPE ") {
                let (name, announced) = announced.split_once(' ').expect(line);
                assert_eq!(name, helped, "{line}");
                assert!(["counter", "gauge", "histogram"].contains(&announced), "{line}");
                assert_eq!(name.ends_with("_total"), announced == "counter", "{line}");
                kind = announced;
            } else {
                let (name, value) = line.rsplit_once(' ').expect(line);
                let of = name.split('{').next().unwrap();
                let parts: &[&str] =
                    if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
                assert!(parts.iter().any(|part| of == format!("{helped}{part}")), "{line}");
                check_labels(&name[of.len()..]);
                let value: f64 = value.parse().expect(line);
                assert!(series.insert(name.to_owned(), value).is_none(), "{line}");
            }
        }
        Self(series)
    }

    /// The value of a series, written with its labels as the service does; 0 if it has none yet.
    pub(super) fn value(&self, series: &str) -> f64 {
        self.0.get(series).copied().unwrap_or_default()
    }

    /// Returns whether a series is there, and is 0.
    pub(super) fn is_at_zero(&self, series: &str) -> bool {
        self.0.get(series) == Some(&0.0)
    }

    /// How many series a family has.
    pub(super) fn series_of(&self, family: &str) -> usize {
        self.0.keys().filter(|series| series.split('{').next() == Some(family)).count()
    }

    /// The names of all families, without the parts of histograms.
    pub(super) fn has(&self, name: &str) -> bool {
        let histogram = format!("{name}_count");
        self.0.keys().any(|series| {
            let of = series.split('{').next();
            of == Some(name) || of == Some(&histogram)
        })
    }
}

#[track_caller]
fn check_labels(labels: &str) {
    if labels.is_empty() {
        return;
    }
    let inner = labels.strip_prefix('{').and_then(|rest| rest.strip_suffix("\"}")).expect(labels);
    for label in inner.split("\",") {
        let (name, value) = label.split_once("=\"").expect(labels);
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{labels}");
        assert!(!value.contains(['"', '\\', '\n']), "{labels}");
    }
}
