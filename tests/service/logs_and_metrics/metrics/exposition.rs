//! The samples of a scrape. `promtool_accepts_the_metrics` checks that the format is correct.

use std::collections::BTreeMap;

/// The samples of one scrape.
pub(crate) struct Exposition(BTreeMap<String, f64>);

impl Exposition {
    /// Parses a scrape. Asserts that no series comes twice, and that the name of each counter ends in `_total`.
    #[track_caller]
    pub(crate) fn parse(text: &str) -> Self {
        for line in text.lines().filter(|line| line.starts_with("# TYPE ")) {
            assert_eq!(line.ends_with(" counter"), line.contains("_total "), "{line}");
        }
        let mut series = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').expect(line);
            assert!(series.insert(name.to_owned(), value.parse().expect(line)).is_none(), "{line}");
        }
        Self(series)
    }

    /// Returns the value of a series, written with its labels as in the scrape; 0 for an absent series.
    pub(crate) fn value(&self, series: &str) -> f64 {
        self.0.get(series).copied().unwrap_or_default()
    }

    /// Returns whether a series is present with this whole number.
    pub(crate) fn is_at(&self, series: &str, value: f64) -> bool {
        self.0.get(series).is_some_and(|present| (present - value).abs() < 0.5)
    }

    /// Returns whether a family has a series. A histogram has one if its `_count` is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        let histogram = format!("{name}_count");
        self.0.keys().any(|series| {
            let of = series.split('{').next();
            of == Some(name) || of == Some(&histogram)
        })
    }
}
