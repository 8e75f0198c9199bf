//! Failed starts, each reported in one line.

use std::{fs, net::TcpListener};

use crate::support::{KEY, command::petstore, server::Launch, store::Store};

#[test]
fn an_address_in_use_is_named_with_its_flag() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for flag in ["--listen", "--metrics-listen"] {
        // `Launch` passes a `--listen` of its own; a second one adds a listener.
        let launch = Launch::on(&Store::memory()).flag(flag, &address);
        let refused = launch.finish().fails(1, &address);
        let says = [&*format!("{flag}: cannot listen on {address}: "), "; name a free address"];
        assert!(says.iter().all(|says| refused.stderr.contains(says)), "{refused:?}");
    }
}

#[test]
fn an_invalid_value_is_refused_with_its_variable_or_flag() {
    let store = Store::memory();
    for (variable, value, named) in [
        ("PETSTORE_LISTEN", "nowhere", "nowhere"),
        ("PETSTORE_HEADER_TIMEOUT", "5parsecs", "5parsecs"),
        ("PETSTORE_LOG", "petstore=loud", "invalid value 'petstore=loud' for PETSTORE_LOG: "),
        ("PETSTORE_NO_DOCS", "perhaps", "invalid value 'perhaps' for PETSTORE_NO_DOCS"),
    ] {
        let run = petstore(&["serve", "--store", "memory:"]).env("PETSTORE_API_KEY", KEY);
        run.env(variable, value).finish().fails(2, named);
    }
    let bad = Launch::on(&store).flag("--log", "petstore=loud").finish();
    bad.fails(2, "invalid value 'petstore=loud' for '--log <DIRECTIVES>': ");
}

#[test]
fn a_file_without_a_store_is_refused_and_unchanged() {
    let store = Store::sqlite();
    for content in ["just some text\n".repeat(1000), "x".to_owned()] {
        fs::write(store.file(), &content).unwrap();
        Launch::on(&store).finish().fails(78, store.file().to_str().unwrap());
        store.keys(&["create", "web"]).fails(1, store.file().to_str().unwrap());
        assert_eq!(fs::read_to_string(store.file()).unwrap(), content);
    }
}
