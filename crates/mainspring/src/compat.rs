//! Other people's libraries on this runtime, each behind a feature.
//!
//! | module | feature | what it is |
//! |---|---|---|
//! | `hyper` | `hyper` | hyper 1: streams, timer and executor for its clients and servers |
//! | (on the streams) | `tokio-io` | tokio's `AsyncRead` and `AsyncWrite`, the traits only |
//!
//! The traits of `futures-io` are always there.

#[cfg(feature = "hyper")]
pub mod hyper;
