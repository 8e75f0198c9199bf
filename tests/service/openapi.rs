//! The OpenAPI document describes the real answers, and no other answers.

mod answers;
mod bodies;
mod document;
mod examples;
mod queries;
mod scenarios;
mod stage;
