//! The deployment's name on every line of JSON.

use std::fmt;

use tracing::{Event, Subscriber};
use tracing_subscriber::{
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

/// A JSON format whose objects begin with the member `environment`, if there is one.
#[derive(Debug)]
pub(super) struct Labelled<F> {
    json: F,
    /// `{"environment":"production",`, or the bare brace.
    beginning: String,
}

impl<F> Labelled<F> {
    pub(super) fn new(json: F, environment: Option<&str>) -> Self {
        let beginning = environment.map_or("{".to_owned(), |name| {
            // Control characters, the third thing that JSON escapes, cannot be in a name.
            let name = name.replace('\\', "\\\\").replace('"', "\\\"");
            format!("{{\"environment\":\"{name}\",")
        });
        Self { json, beginning }
    }
}

impl<S, N, F> FormatEvent<S, N> for Labelled<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        self.json.format_event(context, Writer::new(&mut line), event)?;
        match line.strip_prefix('{') {
            Some(rest) => write!(writer, "{}{rest}", self.beginning),
            None => writer.write_str(&line),
        }
    }
}
