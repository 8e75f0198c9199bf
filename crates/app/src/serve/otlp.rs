//! Requests as spans, exported by OTLP over HTTP.
//!
//! **What.** A finished request becomes a span in a queue of [`MAX_QUEUED`]. A thread of its own sends what is
//! there every [`INTERVAL`], [`MAX_BATCH`] at a time.
//!
//! **What it buys.** Requests show beside the spans of their clients.
//!
//! **What it costs.** No request waits: a span that finds the queue full is dropped, and the log says so once.
//! A collector that does not answer costs spans, nothing else.

use std::{sync::Arc, time::Duration};

use opentelemetry::{
    InstrumentationScope, KeyValue, SpanId, TraceFlags, TraceId,
    trace::{SpanContext, SpanKind, Status, TraceState},
};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::{
    Resource,
    trace::{
        BatchConfigBuilder, BatchSpanProcessor, SpanData, SpanEvents, SpanLinks, SpanProcessor as _,
    },
};
use petstore_http::{RequestSpan, Spans};
use tokio::task::spawn_blocking;

use crate::{clock::system_time, failure::Failure};

/// Spans that wait to be sent; one more is dropped.
const MAX_QUEUED: usize = 2048;
/// Spans in one request to the collector.
const MAX_BATCH: usize = 512;
/// How often what waits is sent.
const INTERVAL: Duration = Duration::from_secs(1);
/// How long the collector may take for an answer, and how long stopping waits for it.
const TIMEOUT: Duration = Duration::from_secs(5);
/// From this status on, the service is at fault.
const FAILED: u16 = 500;

/// An exporter that runs until it is stopped.
#[derive(Debug)]
pub(super) struct Exporter(Arc<BatchSpanProcessor>);

impl Exporter {
    /// Exports to the collector at `endpoint`, as the service in this environment. The collector need not be
    /// there yet.
    ///
    /// # Errors
    /// The endpoint is no address.
    pub(super) fn new(endpoint: &str, environment: Option<&str>) -> Result<Self, Failure> {
        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{endpoint}/v1/traces"))
            .with_timeout(TIMEOUT)
            .build()
            .map_err(|error| Failure::runtime(format!("--otlp-endpoint: {error}")))?;
        let config = BatchConfigBuilder::default()
            .with_max_queue_size(MAX_QUEUED)
            .with_max_export_batch_size(MAX_BATCH)
            .with_scheduled_delay(INTERVAL)
            .build();
        let mut processor = BatchSpanProcessor::builder(exporter).with_batch_config(config).build();
        let mut about = vec![
            KeyValue::new("service.name", "petstore"),
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        ];
        let environment = environment.map(str::to_owned);
        about.extend(environment.map(|name| KeyValue::new("deployment.environment.name", name)));
        processor.set_resource(&Resource::builder_empty().with_attributes(about).build());
        Ok(Self(Arc::new(processor)))
    }

    /// What takes the requests.
    pub(super) fn spans(&self) -> Spans {
        let processor = Arc::clone(&self.0);
        Arc::new(move |request| processor.on_end(span(request)))
    }

    /// Sends what is left.
    pub(super) async fn stop(self) {
        let stopped = spawn_blocking(move || self.0.shutdown_with_timeout(TIMEOUT)).await;
        if !matches!(stopped, Ok(Ok(()))) {
            tracing::warn!("the last spans could not be exported");
        }
    }
}

/// The request by the semantic conventions of HTTP servers.
fn span(request: &RequestSpan<'_>) -> SpanData {
    let RequestSpan { trace_id, span_id, parent_id, request_id, method, route, status, code, took } =
        *request;
    let end_time = system_time();
    let context = SpanContext::new(
        TraceId::from(trace_id),
        SpanId::from(span_id),
        TraceFlags::SAMPLED,
        false,
        TraceState::NONE,
    );
    let mut attributes = vec![
        KeyValue::new("http.request.method", method),
        KeyValue::new("http.route", route),
        KeyValue::new("http.response.status_code", i64::from(status)),
        KeyValue::new("petstore.request_id", request_id.to_owned()),
    ];
    attributes.extend(code.map(|code| KeyValue::new("error.type", code)));
    SpanData {
        span_context: context,
        parent_span_id: parent_id.map_or(SpanId::INVALID, SpanId::from),
        parent_span_is_remote: parent_id.is_some(),
        span_kind: SpanKind::Server,
        name: format!("{method} {route}").into(),
        start_time: end_time.checked_sub(took).unwrap_or(end_time),
        end_time,
        attributes,
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: if status >= FAILED { Status::error("") } else { Status::Unset },
        instrumentation_scope: InstrumentationScope::builder("petstore").build(),
    }
}
