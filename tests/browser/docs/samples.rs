//! The samples: what they show, and that they work as they are shown.

use std::process::Command;

use petstore_testing::{needs, or_skip_without};
use serde_json::json;

use super::{BODY, CREATE, LIST, authorize, visit};
use crate::support::{KEY, browser::Browser, chromedriver::on_path, command::complete, zoo::Zoo};

/// The sample of an operation in a language.
fn sample(browser: &Browser, operation: &str, language: &str) -> String {
    browser.click(&format!("{operation} [data-language='{language}']"));
    browser.text(&format!("{operation} .sample"))
}

/// Each language with the program that runs it, and its argument before the text.
const LANGUAGES: [(&str, &str, &[&str]); 3] = [
    ("curl", "sh", &["-c"]),
    ("Python", "python3", &["-c"]),
    ("TypeScript", "node", &["--input-type=module", "-e"]),
];

/// Returns the output of a sample.
#[track_caller]
fn run(program: &str, arguments: &[&str], sample: &str) -> String {
    let mut command = Command::new(program);
    command.args(arguments).arg(sample).env("PETSTORE_API_KEY", KEY);
    complete(&mut command).succeeds()
}

#[needs(chromium)]
#[test]
fn every_sample_runs_as_it_is_shown() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = visit(&zoo);
    authorize(browser, KEY);
    browser.fill("#createPet-X-Request-Id", "it's-mine");
    for (number, (language, program, arguments)) in LANGUAGES.into_iter().enumerate() {
        let test = "every_sample_runs_as_it_is_shown";
        if or_skip_without(program, test, on_path(program)).is_none() {
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
fn the_samples_follow_the_form_without_the_key() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = visit(&zoo);
    authorize(browser, KEY);
    let list = format!("{LIST} .sample");
    browser.fill("#listPets-limit", "7");
    browser.js("const status = document.getElementById('listPets-status'); status.value = 'sold';
         status.dispatchEvent(new Event('input', { bubbles: true }));");
    for (language, masked) in [
        ("curl", "$PETSTORE_API_KEY"),
        ("Python", "os.environ[\"PETSTORE_API_KEY\"]"),
        ("TypeScript", "process.env.PETSTORE_API_KEY"),
    ] {
        let shown = sample(browser, LIST, language);
        assert!(shown.contains(&zoo.page("/v1/pets?limit=7&status=sold")), "{shown}");
        assert!(shown.contains(masked) && !shown.contains(KEY), "{shown}");
        // The choice of a language is one for the page.
        browser.reads(&format!("{CREATE} .sample"), masked);
    }
    browser.fill("#listPets-limit", "8");
    browser.reads(&list, "limit=8");
}

#[needs(chromium)]
#[test]
fn a_sample_is_copied_by_a_button() {
    let Some(zoo) = Zoo::open_or_skip() else { return };
    let browser = visit(&zoo);
    browser.js("Object.defineProperty(navigator, 'clipboard', { value: {
         writeText: async text => { window.copied = text; } } });");
    browser.click(&format!("{LIST} .aside .copy"));
    browser.reads(&format!("{LIST} .aside .copy"), "Copied");
    let copied = browser.value("window.copied");
    assert_eq!(copied.as_str().unwrap(), browser.text(&format!("{LIST} .sample")));
}
