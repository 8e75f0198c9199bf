//! What every request can see.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::{
    access_log::LineBudget, kept_pages::KeptPages, openapi::Document, request_id::RequestIds,
    server::Ports, settings::Settings,
};

/// Shared by all connections.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) ports: Ports,
    pub(crate) settings: Settings,
    pub(crate) request_ids: RequestIds,
    pub(crate) kept_pages: KeptPages,
    pub(crate) refusal_lines: LineBudget,
    pub(crate) failure_lines: LineBudget,
    /// The OpenAPI document of this deployment.
    pub(crate) openapi: Document,
    draining: AtomicBool,
}

impl State {
    pub(crate) fn new(ports: Ports, settings: Settings) -> Self {
        let openapi = Document::new(&settings);
        let kept_pages = KeptPages::new(settings.limits.kept_pages);
        Self {
            ports,
            settings,
            request_ids: RequestIds::new(),
            kept_pages,
            refusal_lines: LineBudget::default(),
            failure_lines: LineBudget::default(),
            openapi,
            draining: AtomicBool::new(false),
        }
    }

    /// From now on the service is not ready, and connections are asked to close.
    pub(crate) fn begin_drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}
