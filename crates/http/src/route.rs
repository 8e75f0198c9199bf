//! The route table, as data.

use std::future::ready;

use hyper::Method;

use crate::{
    handlers::{self, Handler, pets, public},
    request::address::is_under_base,
    settings::StaticFile,
};

/// One address and its operations. HEAD works wherever GET does; OPTIONS works under the base path.
#[derive(Debug)]
pub(crate) struct Route {
    /// At most one parameter, in the last segment: `{petId}`.
    pub(crate) template: &'static str,
    operations: &'static [Operation],
}

/// What one method does at an address, and what a request for it needs.
///
/// Whether it needs a credential is no choice of a row: see [`is_under_base`].
#[derive(Debug)]
pub(crate) struct Operation {
    method: Method,
    pub(crate) content: Content,
    pub(crate) query: Query,
    /// Whether it is announced that it ends.
    pub(crate) is_deprecated: bool,
    pub(crate) handler: Handler,
}

impl Operation {
    /// Returns whether a key that may only read is refused.
    pub(crate) fn writes(&self) -> bool {
        self.method != Method::GET
    }
}

/// The body that an operation takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// One may be sent, within the limit; it is not read.
    Ignored,
    /// It must be JSON by its media type, and is read whole before the handler begins.
    Json,
}

/// The query that an operation takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Query {
    /// Any parameter is a fault.
    Refused,
    /// The handler reads it, or ignores it.
    Handled,
}

/// Every address of the service, whatever static files it was given.
pub(crate) static ROUTES: [Route; 6] = [
    Route {
        template: "/v1/pets",
        operations: &[
            read(|call| Box::pin(pets::list(call))),
            Operation {
                method: Method::POST,
                content: Content::Json,
                query: Query::Refused,
                is_deprecated: false,
                handler: |call| Box::pin(pets::create(call)),
            },
        ],
    },
    Route {
        template: "/v1/pets/{petId}",
        operations: &[Operation {
            method: Method::GET,
            content: Content::Ignored,
            query: Query::Refused,
            is_deprecated: true,
            handler: |call| Box::pin(pets::get(call)),
        }],
    },
    Route {
        template: "/v1/store/orders",
        operations: &[read(|_| Box::pin(ready(handlers::orders())))],
    },
    Route {
        template: "/openapi.json",
        operations: &[read(|call| Box::pin(ready(Ok(public::openapi(&call)))))],
    },
    Route { template: "/livez", operations: &[read(|_| Box::pin(ready(Ok(public::livez()))))] },
    Route { template: "/readyz", operations: &[read(|call| Box::pin(public::readyz(call.state)))] },
];

/// Leads to the first static file; there if there is one.
static HOME: Route =
    Route { template: "/", operations: &[read(|call| Box::pin(ready(public::home(&call))))] };
/// The address of every static file, whose path is the parameter; with a slash behind it, as some people type it, too.
static STATIC_FILE: Route = Route {
    template: "{page}",
    operations: &[read(|call| Box::pin(ready(public::static_file(&call))))],
};

/// Returns a GET that takes any query.
const fn read(handler: Handler) -> Operation {
    Operation {
        method: Method::GET,
        content: Content::Ignored,
        query: Query::Handled,
        is_deprecated: false,
        handler,
    }
}

/// What a request is aimed at: its route, if the address has one, and the route's parameter.
pub(crate) type Target<'p> = Option<(&'static Route, &'p str)>;

/// Returns the route of `path` and the value of its parameter, empty if it has none.
pub(crate) fn find<'p>(path: &'p str, files: &[StaticFile]) -> Target<'p> {
    let fixed = ROUTES.iter().find_map(|route| Some((route, route.parameter_in(path)?)));
    let file = path.strip_suffix('/').unwrap_or(path);
    fixed.or_else(|| {
        if path == "/" {
            return files.first().map(|_| (&HOME, ""));
        }
        files.iter().any(|it| it.path == file).then_some((&STATIC_FILE, path))
    })
}

impl Route {
    /// Returns what `method` does here.
    pub(crate) fn operation(&self, method: &Method) -> Option<&'static Operation> {
        let wanted = if method == Method::HEAD { &Method::GET } else { method };
        self.operations.iter().find(|operation| operation.method == wanted)
    }

    /// Returns the methods that this address knows, as the `Allow` header lists them.
    pub(crate) fn allow(&self) -> String {
        let mut methods = Vec::new();
        for Operation { method, .. } in self.operations {
            methods.push(method.as_str());
            if method == Method::GET {
                methods.push("HEAD");
            }
        }
        if is_under_base(self.template) {
            methods.push("OPTIONS");
        }
        methods.join(", ")
    }

    fn parameter_in<'p>(&self, path: &'p str) -> Option<&'p str> {
        let Some((prefix, _name)) = self.template.split_once('{') else {
            return (path == self.template).then_some("");
        };
        path.strip_prefix(prefix).filter(|value| !value.is_empty() && !value.contains('/'))
    }
}

#[cfg(test)]
mod tests;
