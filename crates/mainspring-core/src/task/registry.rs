//! All tasks of one executor, as a list through their headers.

use super::TaskRef;
use super::header::{Links, TaskPtr};
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;

/// The tasks of one executor that are not complete: an intrusive list, for snapshots and shutdown.
///
/// It holds no references: a task leaves it in [`Schedule::retire`], before its memory can go. The
/// executor keeps it under a lock, or on one thread. Every operation is O(1) and allocates nothing.
///
/// A shutdown closes the registry under the same lock under which it inserts, so that no task slips
/// in later, then [pops](Self::pop) one after another, aborts it outside the lock, and runs what is
/// queued until each of them is finished.
///
/// [`Schedule::retire`]: super::Schedule::retire
#[derive(Default)]
pub struct Registry {
    first: Option<TaskPtr>,
    len: usize,
}

// SAFETY: [task.registry] the links belong to the registry, which is moved as a whole.
unsafe impl Send for Registry {}

impl Registry {
    /// An empty registry.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            first: None,
            len: 0,
        }
    }

    /// How many tasks are listed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no task is listed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Lists a new task, before it is scheduled.
    ///
    /// # Safety
    ///
    /// The task's scheduler removes it from this registry in [`retire`](super::Schedule::retire),
    /// before it returns; the task is never inserted into another registry, nor twice; and it has
    /// not been run.
    #[inline]
    pub unsafe fn insert(&mut self, task: &TaskRef) {
        let task = task.as_ptr();
        let next = self.first.replace(task);
        self.len += 1;
        // SAFETY: [task.registry] a new task that is in no list.
        unsafe {
            with_links(task, |links| {
                debug_assert!(links.prev.is_none(), "task.registry: listed twice");
                links.next = next;
            });
        }
        if let Some(next) = next {
            // SAFETY: [task.registry] `next` was the first of this list.
            unsafe { with_links(next, |links| links.prev = Some(task)) };
        }
    }

    /// Takes a task off the list. False if it was not listed: popped before, or never inserted.
    ///
    /// # Safety
    ///
    /// The task was never inserted into another registry.
    #[inline]
    pub unsafe fn remove(&mut self, task: &TaskRef) -> bool {
        let task = task.as_ptr();
        // SAFETY: [task.registry] the caller's contract: only this registry uses the links.
        let Links { prev, next } = unsafe { with_links(task, std::mem::take) };
        match prev {
            // SAFETY: [task.registry] a neighbour in this list.
            Some(prev) => unsafe { with_links(prev, |links| links.next = next) },
            None if self.first == Some(task) => self.first = next,
            None => return false,
        }
        if let Some(next) = next {
            // SAFETY: [task.registry] a neighbour in this list.
            unsafe { with_links(next, |links| links.prev = prev) };
        }
        self.len -= 1;
        true
    }

    /// Takes the newest task off the list, with a reference of its own.
    pub fn pop(&mut self) -> Option<TaskRef> {
        let first = self.first?;
        // SAFETY: [task.registry] a listed task is not retired, so it is alive, and retiring needs
        // the `&mut self` that we have.
        let task = (*unsafe { Listed::new(first) }).clone();
        // SAFETY: [task.registry] it is in this list.
        unsafe { self.remove(&task) };
        Some(task)
    }

    /// The tasks, newest first.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        Iter {
            next: self.first,
            registry: PhantomData,
        }
    }
}

/// Calls `with` with the links of a task.
///
/// # Safety
///
/// The task is alive, and the caller holds the only registry that uses its links.
#[inline]
unsafe fn with_links<R>(task: TaskPtr, with: impl FnOnce(&mut Links) -> R) -> R {
    // SAFETY: [task.alive] the caller's contract.
    let header = unsafe { task.as_ref() };
    header.links.with_mut(|links| {
        // SAFETY: [task.registry] the caller's contract.
        with(unsafe { &mut *links })
    })
}

impl<'a> IntoIterator for &'a Registry {
    type Item = Listed<'a>;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("len", &self.len).finish()
    }
}

/// The tasks of a [`Registry`], newest first.
pub struct Iter<'a> {
    next: Option<TaskPtr>,
    registry: PhantomData<&'a Registry>,
}

impl<'a> Iterator for Iter<'a> {
    type Item = Listed<'a>;

    fn next(&mut self) -> Option<Listed<'a>> {
        let task = self.next?;
        // SAFETY: [task.registry] a listed task is alive, and stays listed while the registry is
        // borrowed.
        let header = unsafe { task.as_ref() };
        self.next = header.links.with(|links| {
            // SAFETY: [task.registry] links are written only through `&mut Registry`.
            unsafe { &*links }.next
        });
        // SAFETY: [task.registry] as above.
        Some(unsafe { Listed::new(task) })
    }
}

impl fmt::Debug for Iter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").finish_non_exhaustive()
    }
}

/// A task that is listed in a borrowed [`Registry`]. Derefs to [`TaskRef`], not counted.
pub struct Listed<'a> {
    task: ManuallyDrop<TaskRef>,
    registry: PhantomData<&'a Registry>,
}

impl Listed<'_> {
    /// # Safety
    ///
    /// The task stays listed for the whole lifetime.
    unsafe fn new(task: TaskPtr) -> Self {
        Self {
            // SAFETY: [task.registry] a listed task's unfinished future is a reference, which is
            // lent here and not counted.
            task: ManuallyDrop::new(unsafe { TaskRef::from_ptr(task) }),
            registry: PhantomData,
        }
    }
}

impl Deref for Listed<'_> {
    type Target = TaskRef;

    fn deref(&self) -> &TaskRef {
        &self.task
    }
}

impl fmt::Debug for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests;
