//! The route table, as data.

use std::future::ready;

use hyper::{Method, StatusCode};

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

/// The action of one method at an address, and the needs of a request for it.
///
/// Whether it needs a credential is no choice of a row: see [`is_under_base`].
#[derive(Debug)]
pub(crate) struct Operation {
    method: Method,
    /// `true` if the body must be JSON by its media type; it is read whole before the handler begins. Another body may
    /// be sent, within the limit, and is not read.
    pub(crate) takes_json: bool,
    /// `true` if it takes a query, which the handler reads or ignores. If not, any parameter is an error.
    pub(crate) takes_query: bool,
    /// `true` if its end is announced.
    pub(crate) is_deprecated: bool,
    /// The status of an answer that is no error.
    pub(crate) success: StatusCode,
    pub(crate) handler: Handler,
}

impl Operation {
    /// Returns whether a key that may only read is refused.
    pub(crate) fn writes(&self) -> bool {
        self.method != Method::GET
    }
}

/// Every address of the service, whatever static files it was given.
pub(crate) static ROUTES: [Route; 6] = [
    Route {
        template: "/v1/pets",
        operations: &[
            read(|context| Box::pin(pets::list(context))),
            Operation {
                method: Method::POST,
                takes_json: true,
                takes_query: false,
                is_deprecated: false,
                success: StatusCode::CREATED,
                handler: |context| Box::pin(pets::create(context)),
            },
        ],
    },
    Route {
        template: "/v1/pets/{petId}",
        operations: &[Operation {
            method: Method::GET,
            takes_json: false,
            takes_query: false,
            is_deprecated: true,
            success: StatusCode::OK,
            handler: |context| Box::pin(pets::get(context)),
        }],
    },
    Route {
        template: "/v1/store/orders",
        operations: &[read(|_| Box::pin(ready(handlers::orders())))],
    },
    Route {
        template: "/openapi.json",
        operations: &[read(|context| Box::pin(ready(Ok(public::openapi(&context)))))],
    },
    Route { template: "/livez", operations: &[read(|_| Box::pin(ready(Ok(public::livez()))))] },
    Route {
        template: "/readyz",
        operations: &[read(|context| Box::pin(public::readyz(context.state)))],
    },
];

/// The front page, which redirects to the first static file.
static HOME: Route =
    Route { template: "/", operations: &[read(|context| Box::pin(ready(public::home(&context))))] };
/// The address of every static file, whose path is the parameter.
static STATIC_FILE: Route = Route {
    template: "{page}",
    operations: &[read(|context| Box::pin(ready(public::static_file(&context))))],
};
/// The same address with a slash behind it, which the parameter has not.
static FILE_WITH_SLASH: Route = Route {
    template: "{page}/",
    operations: &[read(|context| Box::pin(ready(public::without_slash(&context))))],
};

/// Returns a GET that takes any query.
const fn read(handler: Handler) -> Operation {
    Operation {
        method: Method::GET,
        takes_json: false,
        takes_query: true,
        is_deprecated: false,
        success: StatusCode::OK,
        handler,
    }
}

/// The target of a request: its route, if the address has one, and the route's parameter.
pub(crate) type Target<'p> = Option<(&'static Route, &'p str)>;

/// Returns the route of `path` and the value of its parameter, empty if it has none.
pub(crate) fn find<'p>(path: &'p str, files: &[StaticFile]) -> Target<'p> {
    let fixed = ROUTES.iter().find_map(|route| Some((route, route.parameter_in(path)?)));
    let is_file = |path| files.iter().any(|file| file.path == path);
    fixed.or_else(|| match path.strip_suffix('/') {
        Some("") => (!files.is_empty()).then_some((&HOME, "")),
        Some(file) => is_file(file).then_some((&FILE_WITH_SLASH, file)),
        None => is_file(path).then_some((&STATIC_FILE, path)),
    })
}

impl Route {
    /// Returns what `method` does here.
    pub(crate) fn operation(&self, method: &Method) -> Option<&'static Operation> {
        let wanted = if method == Method::HEAD { &Method::GET } else { method };
        self.operations.iter().find(|operation| operation.method == wanted)
    }

    /// Returns its template, and the method and the status of success of each operation.
    pub(crate) fn operations(
        &'static self,
    ) -> impl Iterator<Item = (&'static str, &'static Method, StatusCode)> {
        self.operations.iter().map(|it| (self.template, &it.method, it.success))
    }

    /// Returns whether one of its operations takes a body.
    pub(crate) fn takes_a_body(&self) -> bool {
        self.operations.iter().any(|operation| operation.takes_json)
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
