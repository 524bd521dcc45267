//! Memory of the caller's that an operation owns while it runs.
//!
//! # Invariants
//!
//! - **buf.stable** — the bytes of an [`IoBuf`] stay where they are while the value is moved, and
//!   until it is dropped: an operation of the kernel's may outlive the future that began it.

use super::PooledBuf;
use std::sync::Arc;

/// Memory that can be written out of: it goes into an operation and comes back with its result.
///
/// # Safety
///
/// [`as_ptr`](Self::as_ptr) and [`len`](Self::len) name initialised bytes which neither move nor
/// change while the value is moved about, and which are valid until it is dropped. That is true of
/// what lies on the heap or is `'static`, and false of an array inside the value itself.
pub unsafe trait IoBuf: Unpin + Send + 'static {
    /// Where the bytes begin.
    fn as_ptr(&self) -> *const u8;

    /// How many they are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Memory that can be read into: behind what it holds, as far as it has room.
///
/// # Safety
///
/// [`spare_ptr`](Self::spare_ptr) and [`spare_len`](Self::spare_len) name bytes which nobody else
/// uses, which do not move while the value is moved about, and which are valid until it is dropped
/// or changed.
pub unsafe trait IoBufMut: IoBuf {
    /// Where the room behind the bytes begins.
    fn spare_ptr(&mut self) -> *mut u8;

    /// How many bytes the room has. Zero: reading into it brings nothing.
    fn spare_len(&self) -> usize;

    /// Counts `filled` more bytes as initialised.
    ///
    /// # Safety
    ///
    /// That many bytes of the room have been written.
    unsafe fn filled(&mut self, filled: usize);
}

// SAFETY: [buf.stable] the bytes lie on the heap.
unsafe impl IoBuf for Vec<u8> {
    fn as_ptr(&self) -> *const u8 {
        Vec::as_ptr(self)
    }

    fn len(&self) -> usize {
        Vec::len(self)
    }
}

// SAFETY: [buf.stable] as above, and nothing grows the vector meanwhile: its owner is the
// operation.
unsafe impl IoBufMut for Vec<u8> {
    fn spare_ptr(&mut self) -> *mut u8 {
        self.spare_capacity_mut().as_mut_ptr().cast()
    }

    fn spare_len(&self) -> usize {
        self.capacity() - self.len()
    }

    unsafe fn filled(&mut self, filled: usize) {
        let len = self.len() + filled;
        // SAFETY: [buf.stable] the caller has written as many bytes of the spare capacity.
        unsafe { self.set_len(len) };
    }
}

/// The shared ones: read only, on the heap or in the program.
macro_rules! io_buf {
    ($($t:ty),*) => {
        $(
            // SAFETY: [buf.stable] the bytes lie on the heap or in the program itself.
            unsafe impl IoBuf for $t {
                fn as_ptr(&self) -> *const u8 {
                    let bytes: &[u8] = self.as_ref();
                    bytes.as_ptr()
                }

                fn len(&self) -> usize {
                    let bytes: &[u8] = self.as_ref();
                    bytes.len()
                }
            }
        )*
    };
}

io_buf!(
    Box<[u8]>,
    Arc<[u8]>,
    String,
    &'static [u8],
    &'static str,
    PooledBuf
);

/// A buffer whose type is forgotten: it only has to live, and what was read into it be found.
pub(crate) trait Storage: Send {
    /// The bytes that were read into the room behind what the buffer held.
    ///
    /// # Safety
    ///
    /// As many have been written there.
    unsafe fn received(&self, count: usize) -> &[u8];
}

/// A caller's buffer whose future has gone. Nothing of the caller's is called any more but `drop`.
pub(crate) struct Adopted<B> {
    /// Where the room was when the receive began, which is where it is.
    room: *const u8,
    /// Keeps the room.
    _buf: B,
}

// SAFETY: [buf.stable] the pointer is to memory of the buffer's, which may be sent.
unsafe impl<B: Send> Send for Adopted<B> {}

impl<B: IoBufMut> Adopted<B> {
    pub(crate) fn new(mut buf: B) -> Self {
        Self {
            room: buf.spare_ptr(),
            _buf: buf,
        }
    }
}

impl<B: IoBufMut> Storage for Adopted<B> {
    unsafe fn received(&self, count: usize) -> &[u8] {
        // SAFETY: [buf.stable] the caller's, and the bytes are borrowed with the buffer.
        unsafe { std::slice::from_raw_parts(self.room, count) }
    }
}
