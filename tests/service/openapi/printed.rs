//! The document from the service and from the command `openapi`.

use serde_json::json;

use crate::support::{command::petstore, server::Launch, store::Store};

#[test]
fn the_command_prints_what_the_service_serves() {
    let public = ("--public-url", "https://pets.example/v1");
    let staging = ("--staging-url", "https://staging.pets.example/v1");
    let named = ("--environment", "blue \"green\"");
    for flags in [&[][..], &[named], &[public], &[named, public, staging]] {
        let words: Vec<_> = flags.iter().flat_map(|(flag, value)| [*flag, *value]).collect();
        let printed = petstore(&[&["openapi"], &words[..]].concat()).finish().succeeds();
        let store = Store::memory();
        let launch = Launch::on(&store);
        let launch = flags.iter().fold(launch, |launch, (flag, value)| launch.flag(flag, value));
        let answer = launch.start().client().get("/openapi.json").anonymous().send().is(200);
        assert_eq!(answer.text(), printed);

        let server = |name: &str, url: &str| json!({ "url": url, "description": name });
        let expected = match flags {
            [] => json!([server("This server", "/v1")]),
            [(_, name)] if *name == named.1 => json!([server(name, "/v1")]),
            [_] => json!([server("Production", public.1)]),
            _ => json!([server("Production", public.1), server("Staging", staging.1)]),
        };
        assert_eq!(answer.json()["servers"], expected);
    }
}

#[test]
fn the_command_reads_the_environment_and_refuses_what_serve_refuses() {
    let run = petstore(&["openapi"]).env("PETSTORE_PUBLIC_URL", "https://pets.example/v1");
    assert!(run.finish().succeeds().contains("\"https://pets.example/v1\""));
    petstore(&["openapi", "--public-url", "pets.example/v1"]).finish().fails(2, "--public-url");
    petstore(&["openapi", "--environment", ""]).finish().fails(2, "--environment");
}
