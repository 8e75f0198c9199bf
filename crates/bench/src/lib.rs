//! What the benchmark and the micro-benchmarks share.

#![expect(clippy::cast_precision_loss, reason = "counts become figures for people")]

pub mod callgrind;
pub mod table;
