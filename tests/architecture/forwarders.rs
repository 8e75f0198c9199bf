//! Each wrapper of a port forwards every method of the port.
//!
//! A port may gain a method with a default body. A wrapper without this method still compiles, but never calls the
//! store behind it. So `app`, `http` and `transfer` implement every method of a port.

use std::{collections::BTreeMap, fs, path::Path};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::path;

/// The crates with wrappers of ports.
const FORWARDING: [&str; 3] = ["app", "http", "transfer"];

/// The methods of each trait, by the trait's name.
type Traits = BTreeMap<String, Vec<String>>;

/// Returns the names of the functions of a block, but not of its inner blocks.
fn functions(block: TokenStream) -> Vec<String> {
    let tokens: Vec<_> = block.into_iter().collect();
    let named = tokens.windows(2).filter_map(|pair| match pair {
        [TokenTree::Ident(word), TokenTree::Ident(name)] if word == "fn" => Some(name.to_string()),
        _ => None,
    });
    named.collect()
}

/// Calls `found` with each item that begins with `word`: the words before its block, and the block.
fn items(source: TokenStream, word: &str, found: &mut impl FnMut(&[String], TokenStream)) {
    let mut words: Option<Vec<String>> = None;
    for token in source {
        match (&token, &mut words) {
            (TokenTree::Ident(ident), None) if *ident == word => words = Some(Vec::new()),
            (TokenTree::Ident(ident), Some(words)) => words.push(ident.to_string()),
            (TokenTree::Group(group), _) if group.delimiter() == Delimiter::Brace => {
                match words.take() {
                    Some(words) => found(&words, group.stream()),
                    None => items(group.stream(), word, found),
                }
            }
            (TokenTree::Punct(punct), _) if punct.as_char() == ';' => words = None,
            _ => {}
        }
    }
}

fn tokens(source: &str) -> TokenStream {
    source.split("#[cfg(test)]\nmod ").next().unwrap().parse().unwrap()
}

fn add_traits(source: &str, traits: &mut Traits) {
    items(tokens(source), "trait", &mut |words, block| {
        traits.insert(words[0].clone(), functions(block));
    });
}

/// Returns the methods of ports that an implementation in `source` leaves to their default bodies.
fn left_out(source: &str, ports: &Traits) -> Vec<String> {
    let mut faults = Vec::new();
    items(tokens(source), "impl", &mut |words, block| {
        let Some(at) = words.iter().position(|word| word == "for") else { return };
        let Some((name, methods)) =
            at.checked_sub(1).and_then(|at| ports.get_key_value(&words[at]))
        else {
            return;
        };
        let written = functions(block);
        let missing = methods.iter().filter(|method| !written.contains(method));
        faults.extend(missing.map(|method| format!("{} lacks {name}::{method}", words[at + 1])));
    });
    faults
}

/// Returns the sources below a folder, without tests.
pub(crate) fn sources(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap().path();
        let is_test = entry.ends_with("tests.rs") || entry.ends_with("tests");
        if is_test {
            continue;
        }
        if entry.is_dir() {
            found.extend(sources(&entry));
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            found.push((entry.display().to_string(), fs::read_to_string(&entry).unwrap()));
        }
    }
    found
}

fn ports() -> Traits {
    let mut traits = Traits::new();
    for (_, source) in sources(&path("crates/domain/src")) {
        add_traits(&source, &mut traits);
    }
    traits
}

#[test]
fn every_wrapper_of_a_port_forwards_every_method() {
    let ports = ports();
    for (port, method) in
        [("PetRepository", "add"), ("KeyStore", "note_uses"), ("Archive", "max_batch")]
    {
        assert!(ports[port].iter().any(|it| it == method), "{port}: {:?}", ports[port]);
    }
    let (mut faults, mut read) = (Vec::new(), 0);
    for name in FORWARDING {
        for (file, source) in sources(&path(&format!("crates/{name}/src"))) {
            read += usize::from(source.contains("impl PetRepository for"));
            faults.extend(left_out(&source, &ports).iter().map(|fault| format!("{file}: {fault}")));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(read > 0, "no forwarder was found");
}

#[test]
fn a_new_method_of_a_port_is_reported_as_missing() {
    let mut ports = Traits::new();
    add_traits(
        "trait Port: Send { fn a(&self); fn b(&self) -> u8 { fn inner() {} 1 } }",
        &mut ports,
    );
    let whole = "impl Port for Late { fn a(&self) {} fn b(&self) -> u8 { self.0.b() } }";
    assert_eq!(left_out(whole, &ports), [""; 0]);
    let part = "mod inner { impl domain::Port for Late { fn a(&self) { fn b() {} } } }";
    assert_eq!(left_out(part, &ports), ["Late lacks Port::b"]);
    assert_eq!(left_out("impl Other for Late {} impl Late { fn b() {} }", &ports), [""; 0]);
}
