//! Sibling modules never import each other, neither directly nor in a longer circle. A parent and its child may import
//! each other. No module imports a name from the crate root.
//!
//! The test reads tokens, so it sees paths in macros and skips paths in comments. A path belongs to the file of its
//! longest module prefix. A name that a parent of the importing module re-exports belongs to the file that defines it.

use std::{collections::BTreeMap, fs, path::Path};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::{is_test, path};

/// The segments of a path. A module's path begins below the crate, so the root is empty.
type Segments = Vec<String>;

/// The source files of a crate, by module.
#[derive(Default)]
struct Crate {
    files: BTreeMap<Segments, TokenStream>,
}

impl Crate {
    /// Adds the file with this path below `src`, unless it has only tests.
    fn add(&mut self, file: &str, source: &str) {
        let mut module: Segments =
            file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
        module.retain(|segment| segment != "lib" && segment != "main");
        if !is_test(Path::new(file)) {
            self.files.entry(module).or_default().extend(source.parse::<TokenStream>().unwrap());
        }
    }

    /// Returns the forbidden imports. The root may name any module, because it declares and re-exports.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut arrows: BTreeMap<&Segments, Vec<Segments>> = BTreeMap::new();
        let files = self.files.iter().filter(|(module, _)| !module.is_empty());
        let imports =
            files.map(|(module, tokens)| (module, self.read(module, tokens.clone(), &[])));
        let imports: BTreeMap<_, _> = imports.collect();
        for (module, targets) in &imports {
            for target in targets {
                let mut file = self.file_of(target);
                if let Some(name) = target.get(file.len())
                    && let Some(passed_on) =
                        imports.get(&file).filter(|_| module.starts_with(&file))
                    && let Some(from) = passed_on.iter().find(|from| from.last() == Some(name))
                {
                    file = self.file_of(from);
                }
                if file.is_empty() {
                    let (from, to) = (module.join("::"), target.join("::"));
                    faults.push(format!(
                        "{from}: crate::{to}: import it from the module that defines it"
                    ));
                } else if !module.starts_with(&file) {
                    arrows.entry(module).or_default().push(file);
                }
            }
        }
        faults.extend(circle(arrows));
        faults
    }

    /// Collects the paths that a module's tokens name within this crate, from the crate root. Each path begins with
    /// `above` in a tree of paths: `a::{b, c::d}` contains `a::b` and `a::c::d`.
    fn read(&self, module: &[String], tokens: TokenStream, above: &[String]) -> Vec<Segments> {
        let (mut targets, mut path) = (Vec::new(), above.to_vec());
        let tokens: Vec<_> = tokens.into_iter().collect();
        let mut rest = &tokens[..];
        while let [token, after @ ..] = rest {
            rest = after;
            match (token, after) {
                (TokenTree::Punct(hash), [TokenTree::Group(attribute), ..])
                    if hash.as_char() == '#' && attribute.stream().to_string() == "cfg (test)" =>
                {
                    rest = &after[item(after)..];
                }
                // A path after `$crate` in a macro is for other crates. No module is called `$`.
                (TokenTree::Punct(dollar), [TokenTree::Ident(_), ..])
                    if dollar.as_char() == '$' =>
                {
                    path = vec!["$".to_owned()];
                    continue;
                }
                (TokenTree::Ident(word), [TokenTree::Ident(name), TokenTree::Group(body), ..])
                    if word == "mod" =>
                {
                    let inner = [module, &[name.to_string()]].concat();
                    targets.extend(self.read(&inner, body.stream(), &[]));
                    rest = &after[2..];
                }
                (TokenTree::Ident(word), [_alias, more @ ..]) if word == "as" => rest = more,
                (TokenTree::Ident(word), _) => {
                    if word != "self" || path.is_empty() {
                        path.push(word.to_string());
                    }
                    if continues(after) {
                        rest = &after[2..];
                        continue;
                    }
                    if path.len() > 1 {
                        targets.extend(self.absolute(module, &path));
                    }
                }
                (TokenTree::Punct(star), _) if star.as_char() == '*' && !path.is_empty() => {
                    targets.extend(self.absolute(module, &path));
                }
                (TokenTree::Group(group), _) => {
                    let is_tree = path.len() > above.len();
                    let above = if is_tree { &path[..] } else { &[] };
                    targets.extend(self.read(module, group.stream(), above));
                }
                _ => {}
            }
            path = above.to_vec();
        }
        targets
    }

    /// Returns the path from the root; `None` for a path of another crate or a local name.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Segments> {
        let (first, below) = path.split_first()?;
        let parent = || &module[..module.len().saturating_sub(1)];
        match first.as_str() {
            "crate" => Some(below.to_vec()),
            "self" => self.absolute(module, below).or_else(|| Some([module, below].concat())),
            "super" if below.first().is_some_and(|next| next == "super") => {
                self.absolute(parent(), below)
            }
            "super" => Some([parent(), below].concat()),
            _ => {
                let child = [module, std::slice::from_ref(first)].concat();
                self.files.contains_key(&child).then(|| [module, path].concat())
            }
        }
    }

    /// Returns the longest prefix of a path that has a source file.
    fn file_of(&self, target: &[String]) -> Segments {
        let mut module = target.to_vec();
        while !module.is_empty() && !self.files.contains_key(&module) {
            module.pop();
        }
        module
    }
}

fn is(token: &TokenTree, punct: char) -> bool {
    matches!(token, TokenTree::Punct(found) if found.as_char() == punct)
}

/// Returns the number of tokens of the item at the start of `tokens`: up to its block or semicolon.
fn item(tokens: &[TokenTree]) -> usize {
    let ends = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => is(token, ';'),
    };
    tokens.iter().position(ends).map_or(tokens.len(), |last| last + 1)
}

/// Returns whether a path continues here: with `::`, and not with the `<` of a generic argument.
fn continues(tokens: &[TokenTree]) -> bool {
    let [first, second, next, ..] = tokens else { return false };
    is(first, ':') && is(second, ':') && !is(next, '<')
}

/// Names the modules that import each other, directly or through other modules. Removes each module that imports none
/// of the rest or is imported by none of the rest. The others are part of a circle, or on a path between two circles.
fn circle(mut arrows: BTreeMap<&Segments, Vec<Segments>>) -> Option<String> {
    loop {
        let before = arrows.len();
        let kept: Vec<_> = arrows.keys().map(|module| (*module).clone()).collect();
        arrows.retain(|_, targets| targets.iter().any(|target| kept.contains(target)));
        let imported: Vec<_> = arrows.values().flatten().cloned().collect();
        arrows.retain(|module, _| imported.contains(module));
        if arrows.len() == before {
            break;
        }
    }
    let names: Vec<_> = arrows.keys().map(|module| module.join("::")).collect();
    (!names.is_empty()).then(|| format!("import each other: {}", names.join(", ")))
}

#[test]
fn no_two_siblings_import_each_other() {
    let mut faults = Vec::new();
    for folder in fs::read_dir(path("crates")).unwrap() {
        let folder = folder.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap();
        let mut sources = Crate::default();
        let src = folder.join("src");
        for (file, source) in crate::sources(&src) {
            sources.add(file.strip_prefix(&src).unwrap().to_str().unwrap(), &source);
        }
        assert!(!sources.files.is_empty(), "{name}");
        let found = sources.faults().into_iter();
        faults.extend(found.map(|fault| format!("{name}: {fault}")));
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

fn faults(files: &[(&str, &str)]) -> Vec<String> {
    let mut sources = Crate::default();
    for (file, source) in files {
        sources.add(file, source);
    }
    sources.faults()
}

/// Returns the files of a crate with the modules `a` and `b`, and with `more` files.
fn crate_of<'a>(a: &'a str, b: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let root = ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;");
    [&[root, ("a.rs", a), ("b.rs", b)], more].concat()
}

#[test]
fn a_circle_and_a_name_of_the_root_are_reported_for_every_form_of_import() {
    let through_child = [("a/x.rs", "use crate::b::B; use super::A;")];
    let re_exported = [("a/x.rs", "use super::{Y, other};"), ("a/y.rs", "use super::X;")];
    for (a, b, more, circle) in [
        ("use crate::b::B;", "use crate::a::A;", &[][..], "a, b"),
        ("use crate::{b::{self, B}, a::inner};", "use super::a::A;", &[], "a, b"),
        ("fn f() { crate::b::f() }", "fn f() { vec![super::a::g::<u8>()]; }", &[], "a, b"),
        ("mod inner { use super::super::b::B; }", "type A = Option<crate::a::A>;", &[], "a, b"),
        ("pub use crate::b as other;", "use crate::a::*;", &[], "a, b"),
        ("use crate::b::B;", "use crate::c::C;", &[("c.rs", "use crate::a::A;")], "a, b, c"),
        ("mod x; use x::X;", "use crate::a::A;", &through_child, "a, a::x, b"),
        // `a::x` and `a::y` import each other through names that their parent re-exports.
        ("mod x; mod y; pub use x::X; use y::{Y, f};", "", &re_exported, "a::x, a::y"),
    ] {
        let found = faults(&crate_of(a, b, more));
        assert_eq!(found, [format!("import each other: {circle}")], "{a} {b}");
    }
    for a in ["use crate::B;", "use super::B;"] {
        let found = faults(&crate_of(a, "pub struct B;", &[]));
        assert_eq!(found, ["a: crate::B: import it from the module that defines it"]);
    }
}

#[test]
fn parents_children_tests_and_one_direction_are_not_reported() {
    let below = [("a/child.rs", "use super::A;"), ("b/tests.rs", "use crate::a::A;")];
    for (a, b) in [
        ("use crate::b::B; mod child; use child::f;", "use std::a::A; use other::crate_::a;"),
        ("use crate::b::B; use self::child::{f, deep::g};", "#[cfg(test)] use crate::a::A;"),
        ("use crate::b::B;", "#[cfg(test)] mod tests { use crate::a::A; } // crate::a::A"),
        ("use crate::b::B;", "#[cfg(test)] mod tests; const TEXT: &str = \"crate::a::A\";"),
        ("use crate::b::B;", "/// See [`crate::a::A`].\nstruct B;"),
        ("fn f() { self::g(); super::b::B::a() }", "macro_rules! m { () => { $crate::a::A } }"),
    ] {
        assert_eq!(faults(&crate_of(a, b, &below)), [""; 0], "{a} {b}");
    }
}
