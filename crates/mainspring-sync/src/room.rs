//! Memory for messages that is asked for at once, and may be more than there is.

/// An empty vector that holds `capacity` messages without growing.
///
/// # Panics
///
/// With `MS0016` if the allocator does not have that much: a capacity is a program's own number,
/// and a constructor that cannot give what it was asked for says so where it was called, instead
/// of ending the process.
#[track_caller]
pub(crate) fn for_messages<T>(capacity: usize) -> Vec<T> {
    let mut messages = Vec::new();
    match messages.try_reserve_exact(capacity) {
        Ok(()) => messages,
        // PANIC: documented at the constructors of channels.
        Err(_) => panic!(
            "MS0016: a channel of {capacity} messages, {} bytes each, takes more memory than there \
             is (docs/errors.md)",
            size_of::<T>()
        ),
    }
}
