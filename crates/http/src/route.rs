//! The route table, as data.

use hyper::{Method, header::HeaderValue};

/// Where the interface begins; its paths are relative to this.
pub(crate) const BASE_PATH: &str = "/v1";

/// What a request can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    ListPets,
    CreatePet,
    GetPet,
    ListOrders,
    Home,
    Docs,
    OpenApi,
    Livez,
    Readyz,
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

/// Every address of the service.
pub(crate) static ROUTES: [Route; 8] = [
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
    open("/", &[(Method::GET, Operation::Home)]),
    open("/docs", &[(Method::GET, Operation::Docs)]),
    open("/openapi.json", &[(Method::GET, Operation::OpenApi)]),
    open("/livez", &[(Method::GET, Operation::Livez)]),
    open("/readyz", &[(Method::GET, Operation::Readyz)]),
];

const fn open(template: &'static str, methods: &'static [(Method, Operation)]) -> Route {
    Route { template, methods, allow: HeaderValue::from_static("GET, HEAD") }
}

impl Route {
    /// The route of `path` and the value of its parameter, empty if it has none.
    pub(crate) fn find(path: &str) -> Option<(&'static Self, &str)> {
        ROUTES.iter().find_map(|route| Some((route, route.parameter_in(path)?)))
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

    use super::{BASE_PATH, Operation, ROUTES, Route, is_under_base};

    #[test]
    fn allow_lists_what_the_table_knows() {
        for route in &ROUTES {
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
            ("/", Some(("/", ""))),
            ("/v1/pets/", None),
            ("/v1/pets/7/", None),
            ("/v1/pets/7/toys", None),
            ("/v1/Pets", None),
            ("/v1", None),
            ("", None),
            ("/docs/", None),
        ];
        for (path, expected) in table {
            let found = Route::find(path).map(|(route, parameter)| (route.template, parameter));
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn head_is_get_and_other_methods_are_not() {
        let (pets, _) = Route::find("/v1/pets").unwrap();
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
