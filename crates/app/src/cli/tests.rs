use std::{
    ffi::{OsStr, OsString},
    fs,
    num::NonZeroU32,
    os::unix::ffi::OsStrExt as _,
    path::Path,
    sync::Arc,
    time::Duration,
};

use clap::error::ErrorKind;
use petstore_domain::{KeyId, KeyName, KeySelector};
use petstore_http::{Limits, Settings};

use super::{Command, Sources, refusal::one_line, values::variable_of};
use crate::{
    commands::{keys::KeysCommand, records::Format},
    serve::ServeArgs,
    stores::{self, Registry},
};

fn definition() -> clap::Command {
    super::definition(&Arc::new(Registry(stores::BUILT_IN.into())))
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

fn refusal(line: &str) -> String {
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
        ("petstore keys create web --expires 90", "write 90d for 90 days"),
        (
            "petstore keys create web --expires never",
            "leave the flag out for a key that does not expire",
        ),
    ] {
        let refusal = refusal(line);
        assert!(refusal.contains(right) && !refusal.contains("tip:"), "{refusal}");
    }
}

#[test]
fn a_password_on_the_command_line_is_detected() {
    for (line, flags) in [
        ("petstore check --store postgres://me:secret@db/zoo", &["store"][..]),
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
    fs::write(&file, "header-timeout = \"5s\"").unwrap();
    let [mut one, mut two] = ["petstore serve", "petstore serve --config"].map(words);
    one.push(OsString::from_iter([OsStr::new("--config="), file.as_os_str()]));
    two.push(file.into());
    for line in [one, two] {
        let sources = Sources::read(&line, &definition()).unwrap();
        let Command::Serve(args) = super::parse(&sources).unwrap() else { panic!("{line:?}") };
        assert_eq!(args.settings().limits.header_timeout, Duration::from_secs(5));
    }
}

#[test]
fn the_definition_is_sound() {
    definition().debug_assert();
}

#[test]
fn only_flags_of_serve_have_a_variable_and_every_flag_has_help() {
    let definition = definition();
    let flags = |command: &clap::Command| -> Vec<String> {
        let flags = command.get_arguments().filter_map(|arg| arg.get_long());
        flags.filter(|flag| !["help", "version"].contains(flag)).map(str::to_owned).collect()
    };
    let of_serve = flags(definition.find_subcommand("serve").unwrap());
    assert!(of_serve.len() >= 29, "{of_serve:?}");
    for command in commands() {
        for arg in command.get_arguments() {
            assert!(arg.get_help().is_some(), "{}", arg.get_id());
        }
        for flag in flags(&command) {
            let arg = command.get_arguments().find(|arg| arg.get_long() == Some(&flag)).unwrap();
            let variable = arg.get_env().map(|name| name.to_string_lossy().into_owned());
            let expected = of_serve.contains(&flag).then(|| variable_of(&flag));
            assert_eq!(variable, expected, "{flag} of {command}");
        }
    }
}

#[test]
fn every_command_has_examples_that_parse() {
    for command in commands() {
        let help = command.get_after_help().unwrap_or_else(|| panic!("{command}")).to_string();
        let examples = help.split("\n\n").next().unwrap();
        assert!(examples.starts_with("Examples:\n"), "{command}: {help}");
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
}

#[test]
fn every_limit_reaches_its_own_setting() {
    let args = serve(
        "petstore serve --max-connections 7 --header-timeout 1s --idle-timeout 5s --body-timeout 2s \
         --write-timeout 3s --request-timeout 4s --max-body 5KiB \
         --max-buffered-bodies 8KiB --max-buffered-answers 7KiB --page-cache 6KiB --shutdown-delay 6s \
         --shutdown-grace 0s --rate-limit 9",
    );
    let Limits {
        header_timeout,
        idle_timeout,
        body_timeout,
        write_timeout,
        request_timeout,
        max_connections,
        max_body,
        max_buffered_bodies,
        max_buffered_answers,
        rate_limit,
        refusal_delay,
        page_cache,
        shutdown_delay,
        shutdown_grace,
    } = args.settings().limits;
    let of_requests = [header_timeout, body_timeout, write_timeout, request_timeout];
    assert_eq!(of_requests.map(|time| time.as_secs()), [1, 2, 3, 4]);
    let of_connections = [idle_timeout, shutdown_delay, shutdown_grace];
    assert_eq!(of_connections.map(|time| time.as_secs()), [5, 6, 0]);
    assert_eq!((max_connections.get(), max_body, page_cache), (7, 5 * 1024, 6 * 1024));
    assert_eq!([max_buffered_bodies, max_buffered_answers], [8 * 1024, 7 * 1024]);
    assert_eq!((rate_limit, refusal_delay.as_millis()), (NonZeroU32::new(9), 100));
}

#[test]
fn the_keys_commands_parse_their_arguments() {
    let KeysCommand::Create { name, expires, .. } = keys("petstore keys create web --expires 90d")
    else {
        panic!()
    };
    assert_eq!((name.as_str(), expires), ("web", Some(Duration::from_hours(90 * 24))));

    let KeysCommand::Roll { overlap, .. } = keys("petstore keys roll web") else { panic!() };
    assert_eq!(overlap, Duration::from_hours(24));

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
    let table = [
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
            "petstore serve --listen",
            "a value is required for '--listen <ADDRESS>' but none was supplied; try 'petstore serve --help'",
        ),
        (
            "petstore serve --max-body 1KiB --max-body 2KiB",
            "the argument '--max-body <SIZE>' cannot be used multiple times; try 'petstore serve --help'",
        ),
        (
            "petstore serve --listen a\n\nUsage:",
            "invalid value 'a\\n\\nUsage:' for '--listen <ADDRESS>': an address and a port are \
             needed, like 127.0.0.1:8080, localhost:8080 or [::1]:8080; try 'petstore serve --help'",
        ),
        (
            "petstore keys create",
            "the following required arguments were not provided: <NAME>; \
             try 'petstore keys create --help'",
        ),
        (
            "petstore keys revoke 99999999999999999999",
            "invalid value '99999999999999999999' for '<ID|NAME>': \
             the largest identifier is 9223372036854775807; try 'petstore keys revoke --help'",
        ),
        (
            "petstore kees",
            "unrecognized subcommand 'kees'; tip: a similar subcommand exists: 'keys'; \
             try 'petstore --help'",
        ),
    ];
    for (line, expected) in table {
        assert_eq!(refusal(line), expected);
    }
}

#[test]
fn a_refused_store_is_one_line_with_a_reason() {
    for (line, expected) in [
        (
            "petstore serve --store postgres://me:secret@host",
            "invalid value '…' for '--store <URL>': no database is named; \
             write postgres://USER:PASSWORD@HOST/DATABASE; try 'petstore serve --help'",
        ),
        (
            "petstore serve --store postgres//me:secret@host/db",
            "invalid value '…' for '--store <URL>': a store is sqlite:PATH, \
             postgres://USER:PASSWORD@HOST[,HOST]/DATABASE, etcd://HOST[,HOST]/PREFIX or memory:; try 'petstore serve --help'",
        ),
        (
            "petstore serve postgres://me:secret@host/db",
            "unexpected argument '…' found; try 'petstore serve --help'",
        ),
        (
            "petstore keys list --store memory:",
            "invalid value '…' for '--store <URL>': a store in memory ends with this \
             command; use sqlite:PATH, postgres://USER:PASSWORD@HOST[,HOST]/DATABASE or etcd://HOST[,HOST]/PREFIX; \
             try 'petstore keys list --help'",
        ),
        (
            "petstore store verify --from sqlite:a.db",
            "the following required arguments were not provided: --to <URL>; \
             try 'petstore store verify --help'",
        ),
        (
            "petstore export --format xml",
            "invalid value 'xml' for '--format <FORMAT>' [possible values: ndjson, csv]; \
             try 'petstore export --help'",
        ),
    ] {
        assert_eq!(refusal(line), expected);
    }
    let memory = refusal("petstore store copy --from memory: --to sqlite:b.db");
    assert!(memory.contains("for '--from <URL>': a store in memory ends with this"), "{memory}");
}

#[test]
fn help_lists_the_kinds_of_store_and_memory_only_for_serve() {
    for (line, memory) in [
        ("petstore serve --help", true),
        ("petstore keys create --help", false),
        ("petstore keys list --help", false),
        ("petstore keys revoke --help", false),
        ("petstore keys roll --help", false),
        ("petstore store copy --help", false),
        ("petstore store verify --help", false),
        ("petstore import --help", false),
        ("petstore export --help", false),
        ("petstore backup --help", false),
        ("petstore restore --help", false),
        ("petstore check --help", false),
    ] {
        let help = parse(&words(line)).map(drop).unwrap_err().to_string();
        for usage in ["- sqlite:PATH (", "- postgres://USER:PASSWORD@HOST[,HOST]/DATABASE ("] {
            assert!(help.contains(usage), "{help}");
        }
        assert_eq!(help.contains("- memory: ("), memory, "{help}");
    }
}

#[test]
fn an_unknown_variable_is_reported_without_its_value() {
    let told = |names: &[&str]| {
        super::unknown_variables(&definition(), names.iter().map(OsString::from)).join("\n")
    };
    let known = ["API_KEY", "API_KEY_FILE", "CONFIG", "STORE", "STORE_FILE", "NEXT_STORE_FILE"];
    let known = known.map(|name| format!("PETSTORE_{name}"));
    let mut known: Vec<_> = known.iter().map(String::as_str).collect();
    known.extend(["HOME", "petstore_listn", "PETSTOREX", "XPETSTORE_LISTN"]);
    assert_eq!(told(&known), "");
    assert_eq!(told(&["PETSTORE_LISTN"]), "PETSTORE_LISTN is not a setting");
    assert_eq!(told(&["PETSTORE_"]), "PETSTORE_ is not a setting");
    assert_eq!(told(&["PETSTORE_\nX"]), "PETSTORE_\\nX is not a setting");
    let of_kubernetes = ["SERVICE_HOST", "SERVICE_PORT_HTTP", "PORT", "PORT_80_TCP_ADDR"];
    let of_kubernetes = of_kubernetes.map(|name| format!("PETSTORE_{name}"));
    let of_kubernetes: Vec<_> = of_kubernetes.iter().map(String::as_str).collect();
    assert_eq!(told(&of_kubernetes), "");
    assert!(told(&["PETSTORE_PORT"]).starts_with("PETSTORE_PORT is not a setting"));
    let many: Vec<_> = (0..30).map(|number| format!("PETSTORE_{number}")).collect();
    assert_eq!(told(&many.iter().map(String::as_str).collect::<Vec<_>>()).lines().count(), 10);
}

#[test]
fn without_sqlite_the_store_must_be_named() {
    let none = super::definition(&Arc::new(Registry::default()));
    let words = words("petstore serve");
    let settings = Sources::read(&words, &none).unwrap();
    let error = super::parse(&settings).map(drop).unwrap_err().to_string();
    assert!(error.contains("required") && error.contains("--store <URL>"), "{error}");
}
