//! The OpenAPI document of this deployment.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::{route::BASE_PATH, settings::Settings};

/// The document in the repository with the servers of `settings` filled in.
pub(crate) fn document(settings: &Settings) -> Bytes {
    let source = include_str!("openapi.json");
    let Ok(mut document) = serde_json::from_str::<Value>(source) else {
        return Bytes::from_static(source.as_bytes()); // A test holds it to be JSON.
    };
    document["servers"] = servers(settings);
    document.to_string().into()
}

fn servers(settings: &Settings) -> Value {
    let named = [(&settings.public_url, "Production"), (&settings.staging_url, "Staging")];
    let mut servers: Vec<Value> = named
        .into_iter()
        .filter_map(|(url, name)| Some(json!({ "url": url.as_ref()?, "description": name })))
        .collect();
    if servers.is_empty() {
        let here = settings.environment.as_deref().unwrap_or("This server");
        servers.push(json!({ "url": BASE_PATH, "description": here }));
    }
    servers.into()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::document;
    use crate::{
        error::ErrorCode,
        route::{BASE_PATH, ROUTES, is_under_base},
        settings::Settings,
    };

    fn parsed(settings: &Settings) -> Value {
        serde_json::from_slice(&document(settings)).unwrap()
    }

    #[test]
    fn the_document_has_every_route_and_every_code() {
        let document = parsed(&Settings::default());
        let paths = document["paths"].as_object().unwrap();
        let routes: Vec<_> = ROUTES.iter().filter(|route| is_under_base(route.template)).collect();
        assert_eq!(paths.len(), routes.len());
        for route in routes {
            let path = &route.template[BASE_PATH.len()..];
            let methods = route.allow().to_str().unwrap();
            for method in ["GET", "POST"] {
                let described = !document["paths"][path][method.to_lowercase()].is_null();
                assert_eq!(described, methods.contains(method), "{method} {path}");
            }
        }
        let codes = &document["components"]["schemas"]["Error"]["properties"]["code"]["enum"];
        let expected: Vec<_> = ErrorCode::ALL.map(ErrorCode::as_str).into();
        assert_eq!(codes, &serde_json::json!(expected));
    }

    #[test]
    fn the_servers_are_those_of_the_deployment() {
        assert_eq!(parsed(&Settings::default())["servers"][0]["url"], "/v1");
        let settings = Settings {
            public_url: Some("https://pets.example/v1".into()),
            staging_url: Some("https://staging.pets.example/v1".into()),
            ..Settings::default()
        };
        let document = parsed(&settings);
        assert_eq!(document["servers"][0]["url"], "https://pets.example/v1");
        assert_eq!(document["servers"][1]["description"], "Staging");
        assert_eq!(document["servers"].as_array().unwrap().len(), 2);
    }
}
