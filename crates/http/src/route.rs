//! The route table, as data.

use hyper::{Method, header::HeaderValue};

use crate::page::Page;

/// Where the interface begins; its paths are relative to this.
pub(crate) const BASE_PATH: &str = "/v1";

/// What a request can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    ListPets,
    CreatePet,
    GetPet,
    ListOrders,
    OpenApi,
    Livez,
    Readyz,
    Home,
    Page,
}

/// One address and what its methods do. HEAD works wherever GET does; OPTIONS works under `/v1`.
#[derive(Debug)]
pub(crate) struct Route {
    /// At most one parameter, in the last segment: `{petId}`.
    pub(crate) template: &'static str,
    methods: &'static [(Method, Operation)],
    /// The value of the `Allow` header; a test holds it to `methods`.
    allow: HeaderValue,
}

/// Every address of the service, whatever pages it was given.
pub(crate) static ROUTES: [Route; 6] = [
    Route {
        template: "/v1/pets",
        methods: &[(Method::GET, Operation::ListPets), (Method::POST, Operation::CreatePet)],
        allow: HeaderValue::from_static("GET, HEAD, POST, OPTIONS"),
    },
    Route {
        template: "/v1/pets/{petId}",
        methods: &[(Method::GET, Operation::GetPet)],
        allow: HeaderValue::from_static("GET, HEAD, OPTIONS"),
    },
    Route {
        template: "/v1/store/orders",
        methods: &[(Method::GET, Operation::ListOrders)],
        allow: HeaderValue::from_static("GET, HEAD, OPTIONS"),
    },
    open("/openapi.json", &[(Method::GET, Operation::OpenApi)]),
    open("/livez", &[(Method::GET, Operation::Livez)]),
    open("/readyz", &[(Method::GET, Operation::Readyz)]),
];

/// Leads to the first page; there if there is one.
static HOME: Route = open("/", &[(Method::GET, Operation::Home)]);
/// The address of every page, whose path is the parameter.
static PAGE: Route = open("{page}", &[(Method::GET, Operation::Page)]);

const fn open(template: &'static str, methods: &'static [(Method, Operation)]) -> Route {
    Route { template, methods, allow: HeaderValue::from_static("GET, HEAD") }
}

impl Route {
    /// The route of `path` and the value of its parameter, empty if it has none.
    pub(crate) fn find<'p>(path: &'p str, pages: &[Page]) -> Option<(&'static Self, &'p str)> {
        let fixed = ROUTES.iter().find_map(|route| Some((route, route.parameter_in(path)?)));
        fixed.or_else(|| match path {
            "/" => (!pages.is_empty()).then_some((&HOME, "")),
            _ => pages.iter().any(|page| page.path == path).then_some((&PAGE, path)),
        })
    }

    /// What `method` does here.
    pub(crate) fn operation(&self, method: &Method) -> Option<Operation> {
        let wanted = if method == Method::HEAD { &Method::GET } else { method };
        let (_, operation) = self.methods.iter().find(|(method, _)| method == wanted)?;
        Some(*operation)
    }

    /// The methods that this address knows, as the `Allow` header lists them.
    pub(crate) fn allow(&'static self) -> &'static HeaderValue {
        &self.allow
    }

    fn parameter_in<'p>(&self, path: &'p str) -> Option<&'p str> {
        let Some((prefix, _name)) = self.template.split_once('{') else {
            return (path == self.template).then_some("");
        };
        path.strip_prefix(prefix).filter(|value| !value.is_empty() && !value.contains('/'))
    }
}

/// Whether a credential is needed for whatever is, or is not, at `path`.
pub(crate) fn is_under_base(path: &str) -> bool {
    path.strip_prefix(BASE_PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use hyper::Method;

    use super::{BASE_PATH, HOME, Operation, PAGE, ROUTES, Route, is_under_base};
    use crate::page::Page;

    #[test]
    fn allow_lists_what_the_table_knows() {
        for route in ROUTES.iter().chain([&HOME, &PAGE]) {
            let mut expected = Vec::new();
            for (method, _) in route.methods {
                expected.push(method.as_str());
                if method == Method::GET {
                    expected.push("HEAD");
                }
            }
            if is_under_base(route.template) {
                expected.push("OPTIONS");
            }
            assert_eq!(route.allow.to_str().unwrap(), expected.join(", "), "{}", route.template);
        }
    }

    #[test]
    fn a_path_finds_its_route() {
        let table = [
            ("/v1/pets", Some(("/v1/pets", ""))),
            ("/v1/pets/7", Some(("/v1/pets/{petId}", "7"))),
            ("/v1/pets/%20", Some(("/v1/pets/{petId}", "%20"))),
            ("/v1/store/orders", Some(("/v1/store/orders", ""))),
            ("/livez", Some(("/livez", ""))),
            ("/", Some(("/", ""))),
            ("/docs", Some(("{page}", "/docs"))),
            ("/docs/page.css", Some(("{page}", "/docs/page.css"))),
            ("/v1/pets/", None),
            ("/v1/pets/7/", None),
            ("/v1/pets/7/toys", None),
            ("/v1/Pets", None),
            ("/v1", None),
            ("", None),
            ("/docs/", None),
        ];
        let page = |path| Page { path, ..Page::default() };
        let pages = [page("/docs"), page("/docs/page.css")];
        for (path, expected) in table {
            let found =
                Route::find(path, &pages).map(|(route, parameter)| (route.template, parameter));
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn without_pages_there_is_no_front_door() {
        for path in ["/", "/docs"] {
            assert!(Route::find(path, &[]).is_none(), "{path}");
        }
        assert!(Route::find("/openapi.json", &[]).is_some());
    }

    #[test]
    fn head_is_get_and_other_methods_are_not() {
        let (pets, _) = Route::find("/v1/pets", &[]).unwrap();
        assert_eq!(pets.operation(&Method::HEAD), Some(Operation::ListPets));
        assert_eq!(pets.operation(&Method::POST), Some(Operation::CreatePet));
        assert_eq!(pets.operation(&Method::DELETE), None);
    }

    #[test]
    fn only_the_base_path_and_what_is_below_needs_a_credential() {
        for path in [BASE_PATH, "/v1/", "/v1/pets", "/v1/nothing", "/v1//"] {
            assert!(is_under_base(path), "{path}");
        }
        for path in ["/", "", "/v1x", "/v2/pets", "/V1/pets", "//v1/pets", "/docs"] {
            assert!(!is_under_base(path), "{path}");
        }
    }
}
