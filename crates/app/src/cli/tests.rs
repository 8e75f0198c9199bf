use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::OsStrExt as _,
    path::Path,
    sync::{Arc, LazyLock},
    time::Duration,
};

use clap::error::ErrorKind;
use petstore_domain::{KeyId, KeyName, KeySelector};
use petstore_http::{AccessLog, GetPetSunset, Settings};

use super::{Command, Sources, refusal::one_line, values::variable_of};
use crate::{
    commands::{keys::KeysCommand, records::Format},
    serve::ServeArgs,
    stores::{self, Registry},
};

pub(crate) fn definition() -> clap::Command {
    static DEFINITION: LazyLock<clap::Command> =
        LazyLock::new(|| super::definition(&Arc::new(Registry(stores::BUILT_IN.into()))));
    DEFINITION.clone()
}

fn parse(args: &[OsString]) -> Result<Command, clap::Error> {
    let words = args.to_vec();
    super::parse(&Sources { definition: definition(), words, ..Sources::default() })
}

fn words(line: &str) -> Vec<OsString> {
    line.split(' ').map(OsString::from).collect()
}

fn serve(line: &str) -> ServeArgs {
    let Command::Serve(args) = parse(&words(line)).unwrap() else { panic!("{line}") };
    *args
}

fn keys(line: &str) -> KeysCommand {
    let Command::Keys(command) = parse(&words(line)).unwrap() else { panic!("{line}") };
    command
}

pub(crate) fn refusal(line: &str) -> String {
    let args = words(line);
    let sources = Sources::read(&args, &definition()).unwrap();
    one_line(super::parse(&sources).map(drop).unwrap_err(), &sources)
}

/// Returns every command, including the root.
fn commands() -> Vec<clap::Command> {
    fn with_inner(command: clap::Command) -> Vec<clap::Command> {
        let inner = command.get_subcommands().cloned().flat_map(with_inner).collect();
        [vec![command], inner].concat()
    }
    with_inner(definition())
}

#[test]
fn help_calls_the_program_petstore_under_any_file_name() {
    for line in ["/opt/zoo", "/opt/zoo serve --help"] {
        let help = parse(&words(line)).map(drop).unwrap_err().to_string();
        assert!(help.contains("Usage: petstore") && !help.contains("Usage: zoo"), "{help}");
    }
}

#[test]
fn the_error_for_a_likely_mistake_says_what_to_write() {
    for (line, right) in [
        ("petstore serve --port 8080", "did you mean '--listen ADDRESS:PORT'?"),
        ("petstore serve -p 8080", "did you mean '--listen ADDRESS:PORT'?"),
        ("petstore keys delete web", "did you mean 'keys revoke'?"),
        ("petstore keys rotate web", "did you mean 'keys roll'?"),
        ("petstore keys show", "did you mean 'keys list'?"),
    ] {
        let refusal = refusal(line);
        assert!(refusal.contains(right) && !refusal.contains("tip:"), "{refusal}");
    }
}

#[test]
fn a_password_on_the_command_line_is_detected() {
    for (line, flags) in [
        ("petstore check --store postgres://me:secret@db/zoo", &["store"][..]),
        ("petstore check --store postgres://me:a/b@db/zoo", &["store"]),
        ("petstore check --store postgres://me@db:5432/zoo", &[]),
        ("petstore check --store sqlite:a:b@c", &[]),
        ("petstore store copy --from etcd://u:p@a/x --to postgres://u:p@b/x", &["from", "to"]),
    ] {
        assert_eq!(Sources::read(&words(line), &definition()).unwrap().passwords, flags, "{line}");
    }
}

#[test]
fn a_settings_file_may_have_any_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(OsStr::from_bytes(b"zoo\xff=.toml"));
    fs::write(&file, "header-timeout = \"5s\"\nno-docs = false").unwrap();
    let [mut one, mut two] = ["petstore serve", "petstore serve --config"].map(words);
    one.push(OsString::from_iter([OsStr::new("--config="), file.as_os_str()]));
    two.push(file.into());
    for line in [one, two] {
        let sources = Sources::read(&line, &definition()).unwrap();
        let Command::Serve(args) = super::parse(&sources).unwrap() else { panic!("{line:?}") };
        assert_eq!(args.settings().limits.header_timeout, Duration::from_secs(5));
        assert!(!args.settings().static_files.is_empty());
    }
}

#[test]
fn only_flags_of_serve_have_a_variable_and_every_flag_has_help() {
    let definition = definition();
    let serve = definition.find_subcommand("serve").unwrap();
    let of_serve: Vec<_> = serve.get_arguments().filter_map(clap::Arg::get_long).collect();
    assert!(of_serve.len() >= 29, "{of_serve:?}");
    for command in commands() {
        for arg in command.get_arguments() {
            assert!(arg.get_help().is_some(), "{}", arg.get_id());
            let Some(flag) = arg.get_long() else { continue };
            let variable = arg.get_env().map(|name| name.to_string_lossy().into_owned());
            let expected = of_serve.contains(&flag).then(|| variable_of(flag));
            assert_eq!(variable, expected, "{flag} of {command}");
        }
    }
}

#[test]
fn every_command_has_examples_that_parse() {
    for command in commands() {
        let help = command.get_after_help().unwrap_or_else(|| panic!("{command}")).to_string();
        let examples = help.split("\n\n").next().unwrap();
        assert!(examples.starts_with("Examples:\n  "), "{command}: {help}");
        for line in examples.lines().skip(1) {
            // Shell syntax may surround the command, and an explanation may follow it.
            let line = format!(" {}", line.trim_start()).replace(['(', ')'], " ");
            let (_, rest) = line.split_once(" petstore ").unwrap_or_else(|| panic!("{line}"));
            let ends = ["    ", " > ", " | "].map(|end| rest.find(end).unwrap_or(rest.len()));
            let rest = &rest[..ends.into_iter().min().unwrap()];
            let line =
                format!("petstore {}", rest.split_whitespace().collect::<Vec<_>>().join(" "));
            let parsed = parse(&words(&line)).map(drop);
            let kind = parsed.as_ref().err().map(clap::Error::kind);
            assert!(kind.is_none_or(|kind| kind == ErrorKind::DisplayHelp), "{line}: {parsed:?}");
        }
    }
}

#[test]
fn the_defaults_of_flags_are_the_defaults_of_the_server() {
    let args = serve("petstore serve --no-docs");
    assert_eq!(format!("{:?}", args.settings()), format!("{:?}", Settings::default()));
    let listen: Vec<_> = args.listen.iter().map(ToString::to_string).collect();
    assert_eq!(listen, ["127.0.0.1:8080"]);
    let several = serve("petstore serve --listen a:1 --listen unix:/run/x,[::1]:2");
    let listen: Vec<_> = several.listen.iter().map(ToString::to_string).collect();
    assert_eq!(listen, ["a:1", "unix:/run/x", "[::1]:2"]);
    assert_eq!(args.store.store.location.to_string(), "sqlite:petstore.db");
    for (words, log, end) in [
        ("all --get-pet-sunset off", AccessLog::All, GetPetSunset::Off),
        ("all-but-probes --get-pet-sunset now", AccessLog::AllButProbes, GetPetSunset::Now),
        ("off", AccessLog::Off, GetPetSunset::Date),
    ] {
        let settings = serve(&format!("petstore serve --access-log {words}")).settings();
        assert_eq!((settings.access_log, settings.get_pet_sunset), (log, end), "{words}");
    }
}

#[test]
fn the_keys_commands_parse_their_arguments() {
    let KeysCommand::Roll { overlap, .. } = keys("petstore keys roll web") else { panic!() };
    assert_eq!(overlap, Duration::from_hours(24));
    let Ok(Command::Healthcheck(args)) = parse(&words("petstore healthcheck")) else { panic!() };
    assert_eq!(args.timeout, Duration::from_secs(3));

    for (word, selector) in [
        ("007", KeySelector::Id(KeyId(7))),
        ("web", KeySelector::Name(KeyName::parse("web").unwrap())),
    ] {
        let line = format!("petstore keys revoke {word}");
        let KeysCommand::Revoke { target, .. } = keys(&line) else { panic!() };
        assert_eq!(target, selector);
    }
}

#[test]
fn the_file_extension_gives_the_format_without_the_flag() {
    let path = |name| Some(Path::new(name));
    for (words, file, format) in [
        ("", None, Some(Format::Ndjson)),
        (" -", None, Some(Format::Ndjson)),
        (" --format csv -", None, Some(Format::Csv)),
        (" a.csv", path("a.csv"), Some(Format::Csv)),
        (" a.CSV", path("a.CSV"), Some(Format::Csv)),
        (" --format ndjson a.csv", path("a.csv"), Some(Format::Ndjson)),
        (" a.jsonl", path("a.jsonl"), Some(Format::Ndjson)),
        (" a", path("a"), Some(Format::Ndjson)),
        (" --format csv a.xml", path("a.xml"), Some(Format::Csv)),
        // No format belongs to these extensions.
        (" a.xml", path("a.xml"), None),
        (" a.csv.gz", path("a.csv.gz"), None),
        (" a.json", path("a.json"), None),
    ] {
        let line = format!("petstore export{words}");
        let Command::Export(args) = parse(&self::words(&line)).unwrap() else { panic!("{line}") };
        assert_eq!(args.records.format(), format, "{line}");
        let line = format!("petstore import{words}");
        let Command::Import(args) = parse(&self::words(&line)).unwrap() else { panic!("{line}") };
        assert_eq!((args.records.format(), args.records.path()), (format, file), "{line}");
    }
}

#[test]
fn a_refusal_is_one_line_with_a_remedy() {
    for (line, expected) in [
        (
            "petstore serve --header-timeout 10",
            "invalid value '10' for '--header-timeout <DURATION>': \
             a duration is written like 10s, 500ms or 24h; write 10s for 10 seconds; try 'petstore serve --help'",
        ),
        (
            "petstore serve --header-timeuot 10s",
            "unexpected argument '--header-timeuot' found; \
             tip: a similar argument exists: '--header-timeout'; try 'petstore serve --help'",
        ),
        (
            "petstore serve --log-format jsn",
            "invalid value 'jsn' for '--log-format <FORMAT>' [possible values: text, json]; \
             tip: a similar value exists: 'json'; try 'petstore serve --help'",
        ),
        (
            "petstore serve --listen a\n\nUsage:",
            "invalid value 'a\\n\\nUsage:' for '--listen <ADDRESS>': an address and a port are \
             needed, like 127.0.0.1:8080, localhost:8080 or [::1]:8080; try 'petstore serve --help'",
        ),
        (
            "petstore keys revoke 5x",
            "invalid value '5x' for '<ID|NAME>': neither an identifier nor a name: a key's name is an ASCII \
             letter, then up to 63 ASCII letters, digits, '.', '_' or '-'; try 'petstore keys revoke --help'",
        ),
        (
            "petstore keys revoke 99999999999999999999",
            "invalid value '99999999999999999999' for '<ID|NAME>': \
             the largest identifier is 9223372036854775807; try 'petstore keys revoke --help'",
        ),
    ] {
        assert_eq!(refusal(line), expected);
    }
    for flag in ["public-url", "staging-url", "cors-origin", "trusted-proxy", "metrics-listen"] {
        let refusal = refusal(&format!("petstore serve --{flag} no/where"));
        assert!(refusal.contains(&format!("'no/where' for '--{flag} <")), "{refusal}");
    }
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    for line in [
        "petstore store move --from sqlite:a --to sqlite:b --cancel --yes",
        "petstore store move --from sqlite:a --to sqlite:b --cancel --dry-run",
        "petstore store move --from sqlite:a --to sqlite:b --yes --dry-run",
        "petstore upgrade --force --dry-run",
        "petstore import --create --dry-run",
    ] {
        assert!(refusal(line).contains(" cannot be used with '--"), "{}", refusal(line));
    }
}

#[test]
fn only_serve_lists_and_accepts_a_store_in_memory() {
    assert!(commands().len() > 12);
    for command in commands() {
        // `config check` takes the flags of `serve`.
        let serves = command.get_arguments().any(|arg| arg.get_id() == "next-store");
        for arg in command.get_arguments().filter(|arg| arg.is_hide_env_values_set()) {
            let help = arg.get_help().unwrap().to_string();
            for usage in ["- sqlite:PATH (", "- postgres://USER:PASSWORD@HOST[,HOST]/DATABASE ("] {
                assert!(help.contains(usage), "{command}: {help}");
            }
            let expected = serves && arg.get_id() == "store";
            assert_eq!(help.contains("- memory: ("), expected, "{command}: {help}");
        }
    }
    for (line, flag) in [
        ("petstore keys list --store memory:", "--store"),
        ("petstore store copy --from memory: --to sqlite:b.db", "--from"),
        ("petstore serve --next-store memory:", "--next-store"),
    ] {
        let expected = format!(
            "invalid value '…' for '{flag} <URL>': a store in memory ends with this command; use sqlite:PATH, \
             postgres://USER:PASSWORD@HOST[,HOST]/DATABASE or etcd://HOST[,HOST]/PREFIX; try "
        );
        assert!(refusal(line).starts_with(&expected), "{}", refusal(line));
    }
}

#[test]
fn an_unknown_variable_is_reported_without_its_value() {
    let told = |names: &[&str]| {
        let names = names.iter().map(|name| format!("PETSTORE_{name}").into());
        super::unknown_variables(&definition(), names)
    };
    let known = ["API_KEY", "API_KEY_FILE", "CONFIG", "STORE", "STORE_FILE", "NEXT_STORE_FILE"];
    let of_kubernetes = ["SERVICE_HOST", "SERVICE_PORT_HTTP", "PORT", "PORT_80_TCP_ADDR"];
    for names in [&known[..], &of_kubernetes] {
        assert_eq!(told(names), [""; 0]);
    }
    for (name, shown) in [("LISTN", "LISTN"), ("", ""), ("\nX", "\\nX"), ("PORT", "PORT")] {
        assert_eq!(told(&[name]), [format!("PETSTORE_{shown} is not a setting")]);
    }
    // The known variables precede these in the order of names.
    let many = ["TA", "TB", "TC", "TD", "TE", "TF", "TG", "TH", "TI", "TJ", "TK", "TL"];
    assert_eq!(told(&[&known[..], &many].concat()).len(), 10);
    let others = ["HOME", "petstore_listn", "PETSTOREX", "XPETSTORE_LISTN"].map(OsString::from);
    assert_eq!(super::unknown_variables(&definition(), others), [""; 0]);
}

#[test]
fn without_sqlite_the_store_must_be_named() {
    let none = super::definition(&Arc::new(Registry::default()));
    let words = words("petstore serve");
    let settings = Sources::read(&words, &none).unwrap();
    let error = super::parse(&settings).map(drop).unwrap_err().to_string();
    assert!(error.contains("required") && error.contains("--store <URL>"), "{error}");
}
