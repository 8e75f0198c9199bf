//! The log: events as lines of text or JSON on stderr.
//!
//! No request ever waits for the reader of the log: events go into a bounded queue, which a separate thread
//! empties, and lines that do not fit are dropped. A stderr that is closed or full costs only these lines.

mod queue;

#[cfg(test)]
mod tests;

use std::{
    env,
    error::Error,
    io::{self, IsTerminal as _},
    panic,
};

use tracing_subscriber::{
    Layer, Registry,
    filter::{ParseError, Targets},
    fmt,
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

use self::queue::Lines;
pub(crate) use self::queue::Log;
use crate::{cli::LogFormat, failure::Failure};

/// The variable that says what is logged.
pub(crate) const VARIABLE: &str = "PETSTORE_LOG";

/// The events that are logged by default. hyper warns of every client that is too slow, which no operator can
/// change.
const DIRECTIVES: &str = "warn,hyper=error,petstore=info";
/// Lines that wait to be written; at some hundred bytes each, a few megabytes at most.
const QUEUED_LINES: usize = 10_000;

/// The settings of the log.
#[derive(Debug)]
pub(crate) struct LogConfig {
    /// `None` lets stderr decide: text on a terminal, else JSON.
    pub(crate) format: Option<LogFormat>,
    /// Put on every line of JSON.
    pub(crate) environment: Option<String>,
    /// Selects the events that are logged.
    pub(crate) filter: Targets,
}

/// Reads the directives of [`VARIABLE`]; none, or an empty text, means the default.
pub(crate) fn filter(directives: Option<&str>) -> Result<Targets, Failure> {
    let directives = directives.filter(|text| !text.is_empty()).unwrap_or(DIRECTIVES);
    directives.parse().map_err(|error: ParseError| {
        Failure::usage(format!(
            "invalid value '{directives}' for {VARIABLE}: {error}; \
             use directives like 'info' or 'warn,petstore_http=debug'"
        ))
    })
}

/// Starts the log. It is written until the value returned is dropped.
pub(crate) fn start(config: LogConfig) -> Result<Log, Failure> {
    let LogConfig { format, environment, filter } = config;
    let terminal = io::stderr().is_terminal();
    let json = format.map_or(!terminal, |format| format == LogFormat::Json);
    let colours = terminal && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let cannot = |error: &dyn Error| Failure::runtime(format!("cannot start the log: {error}"));
    let (log, lines) = Log::new(io::stderr(), QUEUED_LINES).map_err(|error| cannot(&error))?;
    let layer = if json { as_json(lines, environment.as_deref()) } else { as_text(lines, colours) };
    tracing_subscriber::registry()
        .with(layer.with_filter(filter))
        .try_init()
        .map_err(|error| cannot(&error))?;
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(place, cause = panic.payload_as_str(), "a bug: a task has panicked");
    }));
    Ok(log)
}

type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

fn as_text(lines: Lines, colours: bool) -> BoxedLayer {
    // By default the layer reports its own failures by `eprintln!`, which panics.
    let layer = fmt::layer().with_writer(move || lines.clone());
    layer.with_ansi(colours).log_internal_errors(false).boxed()
}

fn as_json(lines: Lines, environment: Option<&str>) -> BoxedLayer {
    let lines = match environment {
        Some(name) => lines.with_environment(name),
        None => lines,
    };
    fmt::layer().with_writer(move || lines.clone()).json().log_internal_errors(false).boxed()
}
