//! The OpenAPI document: the real answers are those it describes, and it describes no others.

mod agreement;
mod answers;
mod bodies;
mod codes;
mod document;
mod elsewhere;
mod examples;
mod printed;
mod queries;
mod scenarios;
mod stage;
