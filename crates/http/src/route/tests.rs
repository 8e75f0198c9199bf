use super::{PAGE, ROUTES, find};
use crate::settings::StaticFile;

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
        let is_fixed = found.is_some_and(|(template, _)| template != PAGE.template);
        assert_eq!(find(&ROUTES, path, &[]).is_some(), is_fixed, "{path} without pages");
    }
}
