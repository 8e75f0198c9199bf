//! The optional settings file.

use std::{collections::BTreeMap, path::Path, slice};

use toml::{Table, Value};

use crate::system::{Failure, quotable, quotable_path, read_text};

/// The content of a settings file: the value of each setting, by the name of the setting. Several values are separated by
/// commas, as on the command line.
type Values = BTreeMap<String, String>;

/// Reads a TOML file whose keys must be in `known`, which says of each setting whether it takes several values. A value
/// is a string, an integer or a boolean. A setting that takes several values also accepts a list of them.
pub(super) fn read(path: &Path, known: &BTreeMap<String, bool>) -> Result<Values, Failure> {
    let shown = quotable_path(path);
    let text = read_text(path)
        .map_err(|error| Failure::usage(format!("cannot read the settings {shown}: {error}")))?;
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        Failure::usage(format!("{shown}, line {line}: {}", error.message()))
    })?;
    let values = table.into_iter().map(|(key, value)| {
        let Some(takes_several) = known.get(&key) else {
            let key = quotable(&key);
            let message =
                format!("{shown}: there is no setting '{key}'; 'petstore help serve' lists all");
            return Err(Failure::usage(message));
        };
        let list = value.as_array().filter(|list| *takes_several && !list.is_empty());
        let values: Option<Vec<_>> =
            list.map_or(slice::from_ref(&value), Vec::as_slice).iter().map(scalar).collect();
        let values = values.ok_or_else(|| {
            let several = if *takes_several { ", or a list of such values" } else { "" };
            Failure::usage(format!(
                "{shown}: '{key}' must be text in quotes, a whole number, true or false{several}"
            ))
        })?;
        Ok((key, values.join(",")))
    });
    values.collect()
}

/// Returns the text of a string, an integer or a boolean.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Boolean(value) => Some(value.to_string()),
        Value::Float(_) | Value::Datetime(_) | Value::Array(_) | Value::Table(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::read;
    use crate::system::Failure;

    fn read_text(text: &str) -> Result<Vec<(String, String)>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        let names = ["header-timeout", "listen", "max-connections", "no-docs"];
        let known = names.map(|name| (name.to_owned(), name == "listen")).into();
        let shown = file.path().display().to_string();
        read(file.path(), &known).map(|values| values.into_iter().collect()).map_err(|failure| {
            assert!(matches!(failure, Failure::Usage(_)), "{failure}");
            failure.to_string().replace(&shown, "FILE")
        })
    }

    #[test]
    fn a_value_is_a_scalar_or_a_list_if_the_setting_takes_several() {
        for (text, key, value) in [
            ("header-timeout = \"5s\"", "header-timeout", "5s"),
            ("max-connections = 7", "max-connections", "7"),
            ("no-docs = true # why", "no-docs", "true"),
            ("listen = \"a:1\"", "listen", "a:1"),
            ("listen = [\"a:1\", \"b:2\"]", "listen", "a:1,b:2"),
        ] {
            assert_eq!(read_text(text), Ok(vec![(key.to_owned(), value.to_owned())]), "{text}");
        }
        assert_eq!(read_text(""), Ok(Vec::new()));
    }

    #[test]
    fn an_invalid_setting_is_refused_in_one_line() {
        let scalar = "must be text in quotes, a whole number, true or false";
        for (text, refusal) in [
            (
                "header_timeout = \"5s\"",
                "there is no setting 'header_timeout'; 'petstore help serve' lists all",
            ),
            ("max-connections = [1]", &format!("'max-connections' {scalar}")),
            ("listen = []", &format!("'listen' {scalar}, or a list of such values")),
            ("[no-docs]", &format!("'no-docs' {scalar}")),
        ] {
            assert_eq!(read_text(text), Err(format!("FILE: {refusal}")), "{text}");
        }
        let refusal = read_text("no-docs = true\nheader-timeout = 5s\n").unwrap_err();
        assert!(refusal.starts_with("FILE, line 2: "), "{refusal}");
    }

    #[test]
    fn an_endless_file_is_refused() {
        let refused = read(std::path::Path::new("/dev/zero"), &[].into()).map(drop).unwrap_err();
        assert!(refused.to_string().ends_with("it has more than 1048576 bytes"), "{refused}");
    }
}
