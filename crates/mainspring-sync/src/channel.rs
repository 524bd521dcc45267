//! Channels.

mod ring;
mod shape;
mod store;
mod words;
