//! Permits that were granted.

use super::Semaphore;
use std::fmt;
use std::mem;
use std::sync::Arc;

/// Permits of a [`Semaphore`], given back when it is dropped.
#[must_use = "the permits are given back when this is dropped"]
pub struct Permit<'a> {
    semaphore: &'a Semaphore,
    permits: usize,
}

impl<'a> Permit<'a> {
    pub(super) fn new(semaphore: &'a Semaphore, permits: usize) -> Self {
        Self { semaphore, permits }
    }

    /// How many permits it stands for.
    #[must_use]
    pub fn permits(&self) -> usize {
        self.permits
    }

    /// The semaphore that they are from.
    #[must_use]
    pub fn semaphore(&self) -> &'a Semaphore {
        self.semaphore
    }

    /// Takes `permits` of these out; `None`, and nothing changes, if there are not so many.
    pub fn split(&mut self, permits: usize) -> Option<Self> {
        self.permits = self.permits.checked_sub(permits)?;
        Some(Self::new(self.semaphore, permits))
    }

    /// Adds the permits of another one of the same semaphore.
    ///
    /// # Errors
    ///
    /// Gives `other` back if it is of another semaphore.
    pub fn merge(&mut self, mut other: Self) -> Result<(), Self> {
        if !std::ptr::eq(self.semaphore, other.semaphore) {
            return Err(other);
        }
        self.permits += mem::take(&mut other.permits);
        Ok(())
    }

    /// The permits are gone for good: the semaphore's capacity shrinks by as many.
    ///
    /// What a [`resize`](Semaphore::resize) still waits for is paid with them first.
    pub fn forget(mut self) {
        self.semaphore.forget_held(mem::take(&mut self.permits));
    }
}

impl Drop for Permit<'_> {
    #[inline]
    fn drop(&mut self) {
        self.semaphore.give(self.permits);
    }
}

impl fmt::Debug for Permit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("permits", &self.permits)
            .finish_non_exhaustive()
    }
}

/// Permits of a [`Semaphore`] that is shared by [`Arc`], given back when this is dropped.
#[must_use = "the permits are given back when this is dropped"]
pub struct OwnedPermit {
    semaphore: Arc<Semaphore>,
    permits: usize,
}

impl OwnedPermit {
    pub(super) fn new(semaphore: Arc<Semaphore>, permits: usize) -> Self {
        Self { semaphore, permits }
    }

    /// How many permits it stands for.
    #[must_use]
    pub fn permits(&self) -> usize {
        self.permits
    }

    /// The semaphore that they are from.
    #[must_use]
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }

    /// Takes `permits` of these out; `None`, and nothing changes, if there are not so many.
    pub fn split(&mut self, permits: usize) -> Option<Self> {
        self.permits = self.permits.checked_sub(permits)?;
        Some(Self::new(Arc::clone(&self.semaphore), permits))
    }

    /// Adds the permits of another one of the same semaphore.
    ///
    /// # Errors
    ///
    /// Gives `other` back if it is of another semaphore.
    pub fn merge(&mut self, mut other: Self) -> Result<(), Self> {
        if !Arc::ptr_eq(&self.semaphore, &other.semaphore) {
            return Err(other);
        }
        self.permits += mem::take(&mut other.permits);
        Ok(())
    }

    /// The permits are gone for good: the semaphore's capacity shrinks by as many.
    ///
    /// What a [`resize`](Semaphore::resize) still waits for is paid with them first.
    pub fn forget(mut self) {
        self.semaphore.forget_held(mem::take(&mut self.permits));
    }
}

impl Drop for OwnedPermit {
    #[inline]
    fn drop(&mut self) {
        self.semaphore.give(self.permits);
    }
}

impl fmt::Debug for OwnedPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedPermit")
            .field("permits", &self.permits)
            .finish_non_exhaustive()
    }
}
