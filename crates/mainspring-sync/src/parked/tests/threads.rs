//! Whether a type is `Send` or `Sync`, as a value.
//!
//! An inherent constant hides a trait's, where its bounds hold.

use std::marker::PhantomData;

pub(crate) struct Probe<T: ?Sized>(PhantomData<T>);

pub(crate) trait Otherwise {
    const IS_SEND: bool = false;
}

impl<T: ?Sized> Otherwise for Probe<T> {}

impl<T: ?Sized + Send> Probe<T> {
    pub(crate) const IS_SEND: bool = true;
}

pub(crate) struct ProbeSync<T: ?Sized>(PhantomData<T>);

pub(crate) trait OtherwiseSync {
    const IS_SYNC: bool = false;
}

impl<T: ?Sized> OtherwiseSync for ProbeSync<T> {}

impl<T: ?Sized + Sync> ProbeSync<T> {
    pub(crate) const IS_SYNC: bool = true;
}

/// `(is it Send, is it Sync)` of a type without parameters.
macro_rules! send_sync {
    ($kind:ty) => {{
        #[allow(
            unused_imports,
            reason = "needed where the inherent constant is not there"
        )]
        use $crate::parked::tests::threads::{Otherwise as _, OtherwiseSync as _};
        (
            $crate::parked::tests::threads::Probe::<$kind>::IS_SEND,
            $crate::parked::tests::threads::ProbeSync::<$kind>::IS_SYNC,
        )
    }};
}

pub(crate) use send_sync;
