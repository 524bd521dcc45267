//! Which auto traits a type has, as values: what a type has by itself wins over what every type
//! gets from a trait.

use std::marker::PhantomData;

pub(crate) struct Probe<T: ?Sized>(PhantomData<T>);

impl<T: ?Sized + Send> Probe<T> {
    pub(crate) const IS_SEND: bool = true;
}

impl<T: ?Sized + Sync> Probe<T> {
    pub(crate) const IS_SYNC: bool = true;
}

pub(crate) trait Otherwise {
    const IS_SEND: bool = false;
    const IS_SYNC: bool = false;
}

impl<T: ?Sized> Otherwise for Probe<T> {}

/// Whether a type is `Send`, and `Sync`. Needs [`Probe`] and [`Otherwise`] in scope.
macro_rules! auto_traits {
    ($type:ty) => {
        (Probe::<$type>::IS_SEND, Probe::<$type>::IS_SYNC)
    };
}

pub(crate) use auto_traits;
