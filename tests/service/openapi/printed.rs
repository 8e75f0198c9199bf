//! The document from the service and from the command `openapi`.

use crate::support::{command::petstore, server::Launch, store::Store};

#[test]
fn the_command_prints_what_the_service_serves() {
    let flags = [("--environment", "blue \"green\""), ("--public-url", "https://pets.example/v1")];
    let words: Vec<_> = flags.iter().flat_map(|(flag, value)| [*flag, *value]).collect();
    let printed = petstore(&[&["openapi"], &words[..]].concat()).finish().succeeds();
    let server = Launch::on(&Store::memory()).flags(&flags).start();
    let answer = server.client().get("/openapi.json").anonymous().send().is(200);
    assert_eq!(answer.text(), printed);
    let run = petstore(&["openapi"]).env("PETSTORE_PUBLIC_URL", "https://pets.example/v1");
    assert!(run.finish().succeeds().contains("\"https://pets.example/v1\""));
    petstore(&["openapi", "--public-url", "pets.example/v1"]).finish().fails(2, "--public-url");
}
