//! Values that the metrics listener serves besides what is counted as it happens: those of a store, of the process, of
//! files. They are read at each scrape.

use std::{fmt::Write as _, sync::Arc};

/// One value of a store, or of another part of the service, as it is at this moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The whole name: `petstore_`, the kind of store, what it is, and its unit. That of a counter ends
    /// in `_total`.
    pub name: &'static str,
    /// One sentence, the same for all figures of one name.
    pub help: &'static str,
    /// How it changes, the same for all figures of one name.
    pub kind: FigureKind,
    /// What tells it from the others of its name: a label and its value, which has no quote, backslash or line break.
    /// `None` if it is the only one.
    pub label: Option<(&'static str, String)>,
    /// The value.
    pub value: f64,
}

/// How a [`Figure`] changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureKind {
    /// It only grows while the process runs.
    Counter,
    /// It goes up and down.
    Gauge,
}

/// Reads the figures of a store. It must not wait.
pub type Figures = Arc<dyn Fn() -> Vec<Figure> + Send + Sync>;

impl Figure {
    /// Creates a figure without a label that only grows.
    #[must_use]
    pub fn counter(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { kind: FigureKind::Counter, ..Self::gauge(name, help, value) }
    }

    /// Creates a figure without a label that goes up and down.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "Prometheus has no other numbers")]
    pub fn gauge(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { name, help, kind: FigureKind::Gauge, label: None, value: value as f64 }
    }

    /// Returns the figure with a label.
    #[must_use]
    pub fn with_label(self, name: &'static str, value: impl Into<String>) -> Self {
        Self { label: Some((name, value.into())), ..self }
    }
}

/// Appends `figures`, in any order, in the text format of Prometheus.
pub(crate) fn write(text: &mut String, mut figures: Vec<Figure>) {
    figures.sort_by_key(|figure| figure.name);
    let mut before = "";
    // Writing to a string never fails.
    for Figure { name, help, kind, label, value } in figures {
        if name != before {
            let kind = match kind {
                FigureKind::Counter => "counter",
                FigureKind::Gauge => "gauge",
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
    use super::{Figure, write};

    #[test]
    fn figures_of_one_name_stand_together_under_one_help() {
        let of = |key| Figure::gauge("b_seconds", "When.", 1_795_132_800).with_label("key", key);
        let figures = vec![
            of("web"),
            Figure { value: 0.25, ..Figure::counter("a_total", "How much.", 0) },
            of("shop"),
        ];
        let mut text = "before 1\n".to_owned();
        write(&mut text, figures);
        let expected = "before 1\n# HELP a_total How much.\n# TYPE a_total counter\na_total 0.25\n\
            # HELP b_seconds When.\n# TYPE b_seconds gauge\nb_seconds{key=\"web\"} 1795132800\n\
            b_seconds{key=\"shop\"} 1795132800\n";
        assert_eq!(text, expected);
    }
}
