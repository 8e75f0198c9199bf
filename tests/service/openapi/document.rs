//! The OpenAPI document of a running service, and checks of answers against it.

use std::collections::BTreeSet;

use boon::{Compiler, Schemas};
use serde_json::{Map, Value, json};

use crate::support::{answer::Answer, client::Client, server::Server};

/// Headers of HTTP itself, which OpenAPI describes elsewhere or not at all.
const OF_HTTP: [&str; 4] = ["connection", "content-length", "content-type", "date"];

pub(super) struct Document(pub(super) Value);

/// An operation: one method of one path.
pub(super) struct Operation<'d> {
    pub(super) id: &'d str,
    responses: &'d Map<String, Value>,
}

impl Document {
    /// Fetches the document from a new server.
    #[track_caller]
    pub(super) fn served() -> Self {
        Self::with_server().2
    }

    /// Fetches the document from a new server. Returns the server and its client too.
    #[track_caller]
    pub(super) fn with_server() -> (Server, Client, Self) {
        let server = Server::in_memory();
        let client = server.client();
        let document = Self::of(&client);
        (server, client, document)
    }

    /// Fetches the document from the server of `client`.
    #[track_caller]
    pub(super) fn of(client: &Client) -> Self {
        Self(client.get("/openapi.json").anonymous().send().is(200).json())
    }

    pub(super) fn operations(&self) -> Vec<Operation<'_>> {
        let paths = self.0["paths"].as_object().unwrap().values();
        let methods = paths.flat_map(|path| path.as_object().unwrap().values());
        let operations = methods.map(|operation| Operation {
            id: operation["operationId"].as_str().unwrap(),
            responses: operation["responses"].as_object().unwrap(),
        });
        operations.collect()
    }

    /// Returns the value at `pointer`, or the target of the reference at `pointer`.
    #[track_caller]
    pub(super) fn at(&self, pointer: &str) -> &Value {
        let found = self.0.pointer(pointer);
        self.follow(found.unwrap_or_else(|| panic!("{pointer} is not in the document")))
    }

    /// Returns `place`, or the target of the reference in it.
    #[track_caller]
    pub(super) fn follow<'d>(&'d self, place: &'d Value) -> &'d Value {
        match place["$ref"].as_str() {
            Some(target) => {
                self.at(target.strip_prefix('#').expect("a reference into the document"))
            }
            None => place,
        }
    }

    /// Returns the response that an operation documents for a status.
    #[track_caller]
    pub(super) fn response(&self, operation: &str, status: u16) -> Option<&Value> {
        let operations = self.operations();
        let operation = operations.iter().find(|known| known.id == operation).unwrap();
        Some(self.follow(operation.responses.get(&status.to_string())?))
    }

    /// Returns each operation with each of its documented statuses.
    pub(super) fn statuses(&self) -> BTreeSet<(String, u16)> {
        let operations = self.operations();
        let each = operations.iter().flat_map(|Operation { id, responses }| {
            responses.keys().map(|status| ((*id).to_owned(), status.parse().unwrap()))
        });
        each.collect()
    }

    /// Returns the named examples of a response or a request body.
    pub(super) fn examples<'d>(&'d self, described: &'d Value) -> Vec<(&'d str, &'d Value)> {
        let examples = described.pointer("/content/application~1json/examples");
        let examples = examples.and_then(Value::as_object).into_iter().flatten();
        examples.map(|(name, example)| (name.as_str(), &self.follow(example)["value"])).collect()
    }

    /// Checks a value against a schema of the document.
    pub(super) fn fits(&self, schema: &Value, value: &Value) -> Result<(), String> {
        self.checker(schema)(value)
    }

    /// Returns a function that checks values against a schema of the document. Compiling the schema takes long.
    pub(super) fn checker(&self, schema: &Value) -> impl Fn(&Value) -> Result<(), String> + use<> {
        const PLACE: &str = "http://petstore/schema.json";
        let mut schema = self.follow(schema).clone();
        schema["components"] = self.0["components"].clone();
        let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
        compiler.add_resource(PLACE, schema).unwrap();
        let index = compiler.compile(PLACE, &mut schemas).unwrap();
        move |value| schemas.validate(value, index).map_err(|error| format!("{error:#}: {value}"))
    }

    /// Checks the headers, the body and the error code of an answer against a documented response.
    pub(super) fn describes(&self, response: &Value, answer: &Answer) -> Result<(), String> {
        self.describes_headers(response, answer)?;
        let Some(content) = response.get("content") else {
            return hold(answer.body.is_empty(), "there is a body");
        };
        let media_type = answer.header("content-type").unwrap_or_default();
        let schema = content.get(media_type).ok_or("another media type")?.get("schema").unwrap();
        let body = answer.json();
        self.fits(schema, &body)?;
        if answer.status < 400 {
            return Ok(());
        }
        hold(body["status"] == answer.status, "another status in the body")?;
        let known =
            self.examples(response).into_iter().any(|(_, like)| like["code"] == body["code"]);
        hold(known, "an error code without an example here")
    }

    fn describes_headers(&self, response: &Value, answer: &Answer) -> Result<(), String> {
        let documented = self.headers(response);
        for (name, header) in &documented {
            let required = header["required"] == true;
            hold(!required || answer.header(name).is_some(), &format!("{name} is missing"))?;
        }
        for (name, value) in &answer.headers {
            if OF_HTTP.contains(&name.as_str()) {
                continue;
            }
            let header = documented.iter().find(|(known, _)| known == name);
            let (_, header) = header.ok_or_else(|| format!("{name} is not documented"))?;
            let number = header["schema"]["type"] == "integer";
            let value = if number { value.parse::<i64>().ok().into() } else { json!(value) };
            self.fits(&header["schema"], &value).map_err(|error| format!("{name}: {error}"))?;
        }
        Ok(())
    }

    /// Returns the headers of a response, with their names in lower case.
    pub(super) fn headers<'d>(&'d self, response: &'d Value) -> Vec<(String, &'d Value)> {
        let headers = response["headers"].as_object().into_iter().flatten();
        headers.map(|(name, header)| (name.to_lowercase(), self.follow(header))).collect()
    }
}

/// Returns a bound of a schema, in a type that also has the numbers beyond the bound.
#[track_caller]
pub(super) fn integer(schema: &Value, bound: &str) -> i128 {
    schema[bound].as_i64().unwrap_or_else(|| panic!("{bound}: {schema}")).into()
}

/// Asserts that the service accepts a request exactly if the document does.
#[track_caller]
pub(super) fn agree(by_document: &Result<(), String>, answer: Answer, status: u16, code: &str) {
    match by_document {
        Ok(()) => answer.is(status),
        Err(_) => answer.refuses(400, code),
    };
}

fn hold(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.to_owned()) }
}
