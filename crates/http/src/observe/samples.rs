//! Samples that the metrics listener reads at each scrape, for example of the store, the process and the page cache.

use std::{fmt::Write as _, sync::Arc};

/// One sample of a metric: its value at the time of the scrape.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The whole name of the metric. It begins with `process_` for the process, with `petstore_` and the kind of store
    /// for a store, and with `petstore_` for everything else. It ends in the unit, if there is one, and for a counter
    /// in `_total`.
    pub name: &'static str,
    /// The help text of the metric, one sentence. Samples with equal names have equal help texts.
    pub help: &'static str,
    /// The kind of the metric. Samples with equal names have equal kinds.
    pub kind: SampleKind,
    /// The name and the value of the label, for several samples with one name. The value must not contain a quote, a
    /// backslash or a line break.
    pub label: Option<(&'static str, String)>,
    /// The value, in the unit at the end of the name.
    pub value: f64,
}

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleKind {
    /// A value that only increases while the process runs.
    Counter,
    /// A value that increases and decreases.
    Gauge,
}

/// Returns the samples of a scrape, for example the samples of a store. The function must not block.
pub type SampleSource = Arc<dyn Fn() -> Vec<Sample> + Send + Sync>;

impl Sample {
    /// Creates a sample of a counter, without a label.
    #[must_use]
    pub fn counter(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { kind: SampleKind::Counter, ..Self::gauge(name, help, value) }
    }

    /// Creates a sample of a gauge, without a label.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "Prometheus has no other numbers")]
    pub fn gauge(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { name, help, kind: SampleKind::Gauge, label: None, value: value as f64 }
    }

    /// Adds a label; see [`label`](Self::label).
    #[must_use]
    pub fn with_label(self, name: &'static str, value: impl Into<String>) -> Self {
        Self { label: Some((name, value.into())), ..self }
    }
}

/// Appends `samples` to `text` in the text format of Prometheus, sorted by name.
pub(crate) fn write(text: &mut String, mut samples: Vec<Sample>) {
    samples.sort_by_key(|sample| sample.name);
    let mut before = "";
    // Writing to a string never fails.
    for Sample { name, help, kind, label, value } in samples {
        if name != before {
            let kind = match kind {
                SampleKind::Counter => "counter",
                SampleKind::Gauge => "gauge",
            };
            let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        }
        let _ = match label {
            None => writeln!(text, "{name} {value}"),
            Some((label, of)) => writeln!(text, "{name}{{{label}=\"{of}\"}} {value}"),
        };
        before = name;
    }
}

#[cfg(test)]
mod tests {
    use super::{Sample, write};

    #[test]
    fn samples_of_one_name_are_grouped_under_one_help_text() {
        let of = |key| Sample::gauge("b_seconds", "When.", 1_795_132_800).with_label("key", key);
        let samples = vec![
            of("web"),
            Sample { value: 0.25, ..Sample::counter("a_total", "How much.", 0) },
            of("shop"),
        ];
        let mut text = "before 1\n".to_owned();
        write(&mut text, samples);
        let expected = "before 1\n# HELP a_total How much.\n# TYPE a_total counter\na_total 0.25\n\
            # HELP b_seconds When.\n# TYPE b_seconds gauge\nb_seconds{key=\"web\"} 1795132800\n\
            b_seconds{key=\"shop\"} 1795132800\n";
        assert_eq!(text, expected);
    }
}
