//! A strict parser of the text format of Prometheus. It refuses whatever `promtool check metrics` refuses.

use std::collections::BTreeMap;

/// The samples of one scrape.
pub(super) struct Exposition(BTreeMap<String, f64>);

impl Exposition {
    /// Parses a scrape. Asserts that each series belongs to a family with help and type, that no series comes twice,
    /// and that the names of counters say so.
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

    /// Returns the value of a series, written with its labels as in the scrape; 0 for an absent series.
    pub(super) fn value(&self, series: &str) -> f64 {
        self.0.get(series).copied().unwrap_or_default()
    }

    /// Returns whether a series is present with the value 0.
    pub(super) fn is_at_zero(&self, series: &str) -> bool {
        self.0.get(series) == Some(&0.0)
    }

    /// Returns the number of series of a family.
    pub(super) fn series_of(&self, family: &str) -> usize {
        self.0.keys().filter(|series| series.split('{').next() == Some(family)).count()
    }

    /// Returns whether a family has a series. A histogram has one if its `_count` is there.
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
