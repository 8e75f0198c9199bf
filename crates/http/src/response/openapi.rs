//! The OpenAPI document of a deployment: `openapi.json` with the servers of the deployment.

use serde_json::json;

use crate::{request::address::BASE_PATH, settings::Settings};

/// The document in the repository.
const SOURCE: &str = include_str!("../../openapi.json");
/// The only line of the document that depends on the deployment.
const SERVERS: &str = r#"  "servers": [{ "url": "/v1", "description": "This server" }],"#;

/// Returns the OpenAPI document of a deployment. The servers are the production and staging URLs of `settings`. Without
/// any URL, the only server is the base path, relative to the address of the document.
#[must_use]
pub fn openapi_document(settings: &Settings) -> String {
    let server = |url: &str, name: &str| {
        format!("{{ \"url\": {}, \"description\": {} }}", json!(url), json!(name))
    };
    let named = [(&settings.public_url, "Production"), (&settings.staging_url, "Staging")];
    let mut servers: Vec<String> =
        named.into_iter().filter_map(|(url, name)| Some(server(url.as_ref()?, name))).collect();
    if servers.is_empty() {
        servers.push(server(BASE_PATH, settings.environment.as_deref().unwrap_or("This server")));
    }
    SOURCE.replacen(SERVERS, &format!("  \"servers\": [{}],", servers.join(", ")), 1)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{SERVERS, SOURCE, openapi_document};
    use crate::{
        request::address::{BASE_PATH, is_under_base},
        response::error::ErrorCode,
        route::ROUTES,
        settings::Settings,
    };

    fn parsed(settings: &Settings) -> Value {
        serde_json::from_str(&openapi_document(settings)).unwrap()
    }

    #[test]
    fn the_document_has_every_route_and_every_code() {
        let document = parsed(&Settings::default());
        let paths = document["paths"].as_object().unwrap();
        let routes: Vec<_> = ROUTES.iter().filter(|route| is_under_base(route.template)).collect();
        assert_eq!(paths.len(), routes.len());
        for route in routes {
            let path = &route.template[BASE_PATH.len()..];
            let allow = route.allow();
            let methods = allow.to_str().unwrap();
            for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
                let described = !document["paths"][path][method.to_lowercase()].is_null();
                assert_eq!(described, methods.contains(method), "{method} {path}");
            }
        }
        let codes = &document["components"]["schemas"]["Error"]["properties"]["code"]["enum"];
        assert_eq!(
            codes,
            &json!(ErrorCode::ALL.iter().map(|code| code.as_str()).collect::<Vec<_>>())
        );
    }

    #[test]
    fn an_example_of_an_error_has_the_status_of_its_code() {
        let document = parsed(&Settings::default());
        let examples = document["components"]["examples"].as_object().unwrap();
        assert!(examples.len() > 20);
        for (name, example) in examples {
            let error = &example["value"];
            let known = ErrorCode::ALL.iter().find(|code| error["code"] == code.as_str());
            assert_eq!(error["status"], known.unwrap().status().as_u16(), "{name}");
        }
    }

    #[test]
    fn the_document_has_the_servers_of_the_deployment() {
        assert_eq!(SOURCE.matches(SERVERS).count(), 1);
        let here = |name: &str| json!([{ "url": "/v1", "description": name }]);
        assert_eq!(parsed(&Settings::default())["servers"], here("This server"));
        assert_eq!(openapi_document(&Settings::default()), SOURCE);
        let environment = Some("blue \"green\"".to_owned());
        let named = Settings { environment, ..Settings::default() };
        assert_eq!(parsed(&named)["servers"], here("blue \"green\""));

        let production = json!({ "url": "https://pets.example/v1", "description": "Production" });
        let staging = json!({ "url": "https://staging.example/v1", "description": "Staging" });
        let public_url = Some("https://pets.example/v1".to_owned());
        let staging_url = Some("https://staging.example/v1".to_owned());
        let last = Settings { staging_url: staging_url.clone(), ..Settings::default() };
        assert_eq!(parsed(&last)["servers"], json!([staging]));
        let one = Settings { public_url, ..named };
        assert_eq!(parsed(&one)["servers"], json!([production]));
        let both = Settings { staging_url, ..one };
        assert_eq!(parsed(&both)["servers"], json!([production, staging]));
        let of_both = openapi_document(&both);
        assert_eq!(of_both.lines().count(), SOURCE.lines().count(), "only the servers differ");
    }
}
