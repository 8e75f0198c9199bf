//! The code samples: their contents, and that they run as shown.

use std::process::Command;

use petstore_testing::{find_program, needs, or_skip_without};
use serde_json::json;

use super::{BODY, CREATE, LIST, enter};
use crate::support::{KEY, browser::Browser, command::complete, zoo::Zoo};

/// Returns the sample of an operation in a language.
fn sample(browser: &Browser, operation: &str, language: &str) -> String {
    browser.click(&format!("{operation} [data-language='{language}']"));
    browser.text(&format!("{operation} .sample"))
}

/// Each language with a program that runs it, and the program's arguments before the sample.
const LANGUAGES: [(&str, &str, &[&str]); 3] = [
    ("curl", "sh", &["-c"]),
    ("Python", "python3", &["-c"]),
    ("TypeScript", "node", &["--input-type=module", "-e"]),
];

/// Runs a sample with `program`, and returns its output.
#[track_caller]
fn run(program: &str, arguments: &[&str], sample: &str) -> String {
    let mut command = Command::new(program);
    command.args(arguments).arg(sample).env("PETSTORE_API_KEY", KEY);
    complete(&mut command).succeeds()
}

#[needs(chromium)]
#[test]
fn every_sample_runs_as_it_is_shown() {
    let zoo = Zoo::open();
    let browser = enter(&zoo);
    browser.fill("#createPet-X-Request-Id", "it's-mine");
    for (number, (language, program, arguments)) in LANGUAGES.into_iter().enumerate() {
        let found = find_program(program).ok_or("it is not installed");
        if or_skip_without(program, found).is_none() {
            continue;
        }
        let body = json!({ "name": format!("O'Hara \"{language}\" \\ ü"), "categoryId": i64::MIN });
        browser.fill(BODY, &body.to_string());
        let printed = run(program, arguments, &sample(browser, CREATE, language));
        assert!(printed.contains("-9223372036854775808"), "{language}: {printed}");
        let everything = zoo.everything();
        assert_eq!(everything.len(), number + 1, "{language}");
        assert_eq!(everything[number]["name"], body["name"]);

        browser.fill("#listPets-limit", "1");
        let printed = run(program, arguments, &sample(browser, LIST, language));
        assert!(printed.contains("O'Hara") && !printed.contains("TypeScript"), "{printed}");
    }
}

#[needs(chromium)]
#[test]
fn the_samples_follow_the_form_and_only_a_copy_for_curl_has_the_key() {
    let zoo = Zoo::with(1);
    let browser = enter(&zoo);
    browser.watch_clipboard();
    browser.fill("#listPets-limit", "7");
    browser.js("const status = $('#listPets-status'); status.value = 'sold';
         status.dispatchEvent(new Event('input', { bubbles: true }));");
    for (language, masked) in [
        ("Python", "os.environ[\"PETSTORE_API_KEY\"]"),
        ("TypeScript", "process.env.PETSTORE_API_KEY"),
        ("curl", "$PETSTORE_API_KEY"),
    ] {
        let shown = sample(browser, LIST, language);
        assert!(shown.contains(&zoo.page("/v1/pets?limit=7&status=sold")), "{shown}");
        assert!(shown.contains(masked) && !shown.contains(KEY), "{shown}");
        // The language is chosen for the whole page.
        browser.reads(&format!("{CREATE} .sample"), masked);
        let copy = format!("{LIST} .aside .copy");
        let is_curl = language == "curl";
        browser.reads(&copy, if is_curl { "Copy with key" } else { "Copy" });
        browser.click(&copy);
        browser.reads(&copy, "Copied");
        let copied = browser.value("window.copied");
        assert_eq!(copied.as_str().unwrap() == shown, !is_curl, "{copied}");
        assert_eq!(copied.as_str().unwrap().contains(KEY), is_curl, "{copied}");
    }
    browser.fill("#listPets-limit", "8");
    browser.reads(&format!("{LIST} .sample"), "limit=8");
    assert!(!browser.value("document.documentElement.outerHTML").to_string().contains(KEY));
    // The command under "The first request" runs without a change.
    browser.click("#first .copy");
    browser.reads("#first .copy", "Copied");
    let copied = browser.value("window.copied");
    let printed = complete(Command::new("sh").args(["-c", copied.as_str().unwrap()])).succeeds();
    assert!(printed.contains("pet 1"), "{printed}");
}
