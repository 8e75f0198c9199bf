//! The OpenAPI document describes the real answers, and no other answers.

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
