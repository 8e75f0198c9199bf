//! The route table, as data.

use std::{future::ready, iter};

use hyper::{Method, StatusCode, header::HeaderValue};

use crate::{
    handlers::{self, Handler, metrics, pets, public},
    request::address::is_under_base,
    settings::StaticFile,
};

/// One address and its operations. HEAD works wherever GET does; OPTIONS works under the base path.
#[derive(Debug)]
pub(crate) struct Route {
    /// The path, with at most one parameter in the last segment, such as `{petId}`.
    pub(crate) template: &'static str,
    /// The operation of GET, which every address has.
    pub(crate) get: Operation,
    /// The operations of other methods.
    pub(crate) others: &'static [Operation],
}

/// One method of an address, with the checks that its requests need.
///
/// Every operation under the base path needs a credential. No other operation needs a credential: see
/// [`is_under_base`].
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) method: &'static Method,
    /// `true` if the operation accepts a query, which its handler reads or ignores. Otherwise any parameter is an
    /// error.
    pub(crate) takes_query: bool,
    /// `true` if responses carry `Deprecation`, `Sunset` and a successor link.
    pub(crate) is_deprecated: bool,
    /// The status of a successful response.
    pub(crate) success: StatusCode,
    pub(crate) handler: Handler,
}

impl Operation {
    /// Returns whether the operation needs a key that may write. Except for a deletion, it then reads a body, which
    /// must be JSON by its media type. Other operations ignore a body within the size limit.
    pub(crate) fn writes(&self) -> bool {
        self.method != Method::GET
    }
}

/// Every address of the service besides the static files.
pub(crate) static ROUTES: [Route; 6] = [
    Route {
        others: &[Operation {
            method: &Method::POST,
            takes_query: false,
            is_deprecated: false,
            success: StatusCode::CREATED,
            handler: |context| Box::pin(pets::create(context)),
        }],
        ..read("/v1/pets", |context| Box::pin(pets::list(context)))
    },
    Route {
        template: "/v1/pets/{petId}",
        get: Operation {
            method: &Method::GET,
            takes_query: false,
            is_deprecated: true,
            success: StatusCode::OK,
            handler: |context| Box::pin(pets::get(context)),
        },
        others: &[],
    },
    read("/v1/store/orders", |_| Box::pin(ready(handlers::orders()))),
    read("/openapi.json", |context| Box::pin(ready(Ok(public::openapi(&context))))),
    LIVEZ,
    READYZ,
];

/// Returns the path template, method and success status of each operation in [`ROUTES`].
pub(crate) fn operations() -> impl Iterator<Item = (&'static str, &'static str, StatusCode)> {
    ROUTES.iter().flat_map(|route| {
        route.operations().map(move |it| (route.template, it.method.as_str(), it.success))
    })
}

/// Every address of the metrics listener.
pub(crate) static METRICS_ROUTES: [Route; 3] =
    [read("/metrics", |context| Box::pin(metrics::metrics(context.state))), LIVEZ, READYZ];

const LIVEZ: Route = read("/livez", |_| Box::pin(ready(Ok(public::livez()))));
const READYZ: Route = read("/readyz", |context| Box::pin(public::readyz(context.state)));

/// The address of every static file, of the front page, and of redirects to a file. The parameter is the path.
static PAGE: Route = read("{page}", |context| Box::pin(ready(public::page(&context))));

/// Returns an address whose only operation is GET and accepts any query.
const fn read(template: &'static str, handler: Handler) -> Route {
    let get = Operation {
        method: &Method::GET,
        takes_query: true,
        is_deprecated: false,
        success: StatusCode::OK,
        handler,
    };
    Route { template, get, others: &[] }
}

/// The route of a request and the value of its parameter; `None` if the address has no route.
pub(crate) type Target<'p> = Option<(&'static Route, &'p str)>;

/// Returns the route of `path` among `routes` and `files`, and the value of its parameter. A route without a parameter
/// has an empty value.
pub(crate) fn find<'p>(
    routes: &'static [Route],
    path: &'p str,
    files: &[StaticFile],
) -> Target<'p> {
    let fixed = routes.iter().find_map(|route| Some((route, route.parameter_in(path)?)));
    let without_slash = path.strip_suffix('/').unwrap_or(path);
    let is_page = files.iter().any(|file| path == "/" || file.path == without_slash);
    fixed.or_else(|| is_page.then_some((&PAGE, path)))
}

impl Route {
    /// Returns the operation of `method`. HEAD has the operation of GET.
    pub(crate) fn operation(&'static self, method: &Method) -> Option<&'static Operation> {
        let wanted = if method == Method::HEAD { &Method::GET } else { method };
        self.operations().find(|operation| operation.method == wanted)
    }

    /// Returns the operations of this address. GET is the first.
    pub(crate) fn operations(&'static self) -> impl Iterator<Item = &'static Operation> {
        iter::once(&self.get).chain(self.others)
    }

    /// Returns the value of `Allow`: the methods of this address.
    pub(crate) fn allow(&self) -> HeaderValue {
        let others = self.others.iter().map(|operation| operation.method.as_str());
        let options = is_under_base(self.template).then_some("OPTIONS");
        let methods: Vec<_> = ["GET", "HEAD"].into_iter().chain(others).chain(options).collect();
        HeaderValue::try_from(methods.join(", ")).unwrap_or(HeaderValue::from_static(""))
    }

    fn parameter_in<'p>(&self, path: &'p str) -> Option<&'p str> {
        if !self.template.ends_with('}') {
            return (path == self.template).then_some("");
        }
        let (prefix, _name) = self.template.split_once('{')?;
        path.strip_prefix(prefix).filter(|value| !value.is_empty() && !value.contains('/'))
    }
}

#[cfg(test)]
mod tests;
