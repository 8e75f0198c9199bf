use hyper::Method;

use super::{PAGE, ROUTES, find};
use crate::{request::address::is_under_base, settings::StaticFile};

#[test]
fn the_methods_of_an_address_follow_from_its_row() {
    let allowed = |path| find(&ROUTES, path, &[]).unwrap().0.allow();
    assert_eq!(allowed("/v1/pets"), "GET, HEAD, POST, OPTIONS");
    assert_eq!(allowed("/v1/pets/7"), "GET, HEAD, OPTIONS");
    assert_eq!(allowed("/livez"), "GET, HEAD");
    for route in ROUTES.iter().chain([&PAGE]) {
        let mut seen = Vec::new();
        for operation in route.operations() {
            assert!(!seen.contains(&operation.method), "{}", route.template);
            seen.push(operation.method);
        }
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
        ("/", Some(("{page}", "/"))),
        ("/docs", Some(("{page}", "/docs"))),
        ("/docs/page.css", Some(("{page}", "/docs/page.css"))),
        ("/docs/", Some(("{page}", "/docs/"))),
        ("/v1/pets/", None),
        ("/v1/pets/7/", None),
        ("/v1/pets/7/toys", None),
        ("/v1/Pets", None),
        ("/v1", None),
        ("", None),
        ("//", None),
        ("/docs//", None),
        ("/doc/", None),
    ];
    let page = |path| StaticFile { path, ..StaticFile::default() };
    let pages = [page("/docs"), page("/docs/page.css")];
    for (path, expected) in table {
        let found =
            find(&ROUTES, path, &pages).map(|(route, parameter)| (route.template, parameter));
        assert_eq!(found, expected, "{path}");
    }
}

#[test]
fn without_static_files_there_is_no_front_page() {
    for path in ["/", "/docs", "/docs/"] {
        assert!(find(&ROUTES, path, &[]).is_none(), "{path}");
    }
    assert!(find(&ROUTES, "/openapi.json", &[]).is_some());
}

#[test]
fn head_is_get_and_other_methods_are_not() {
    let (pets, _) = find(&ROUTES, "/v1/pets", &[]).unwrap();
    let of = |method| pets.operation(&method).map(|operation| operation.method);
    assert_eq!(of(Method::HEAD), Some(&Method::GET));
    assert_eq!(of(Method::POST), Some(&Method::POST));
    assert_eq!(of(Method::DELETE), None);
}

#[test]
fn every_method_except_get_requires_a_key_that_may_write() {
    for route in ROUTES.iter().chain([&PAGE]) {
        for operation in route.operations() {
            let is_get = operation.method == Method::GET;
            assert_eq!(operation.writes(), !is_get, "{} {}", operation.method, route.template);
        }
    }
}

/// Every route that is not in this list is under `/v1` and needs a credential.
#[test]
fn only_these_routes_need_no_credential() {
    let all = ROUTES.iter().chain([&PAGE]).map(|route| route.template);
    let open: Vec<_> = all.filter(|template| !is_under_base(template)).collect();
    assert_eq!(open, ["/openapi.json", "/livez", "/readyz", "{page}"]);
}
