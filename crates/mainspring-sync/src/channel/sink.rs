//! A sender as a `Sink` of the futures crates.

#[cfg(feature = "sink")]
mod on;
#[cfg(feature = "sink")]
pub(crate) use self::on::Node;

#[cfg(not(feature = "sink"))]
mod off;
#[cfg(not(feature = "sink"))]
pub(crate) use self::off::Node;
