//! Channels.

mod blocks;
mod ring;
mod shape;
mod store;
mod words;
