//! The waiting side: a node in a future, its poll and its drop.

use super::entry::{Entry, Held, Place, Who};
use super::home::Shared;
use super::inner::Left;
use super::queue::Queue;
use super::revoke::Watch;
use super::section::Section;
use super::{From, Kind, WaitList};
use crate::list::Node;
use std::cell::Cell;
use std::fmt;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

/// What leads a [`Waiter`] to its list: a reference, an `Arc`, or a primitive's own handle.
///
/// A primitive whose future owns it implements this for a handle of its own, around the `Arc` of
/// the primitive: one line.
///
/// # Safety
///
/// [`list`](Self::list) returns the same list, at the same address, every time, for as long as
/// the holder exists, wherever the holder itself is moved.
pub unsafe trait Holds {
    /// The kind of the list.
    type Kind: Kind;

    /// The list.
    fn list(&self) -> &WaitList<Self::Kind>;
}

/// Why a waiter's look is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It has not waited yet. The last chance to find out that it need not: from here to `Pending`
    /// the lock is not released.
    First,
    /// It is being polled with nothing offered to it and nobody in front of it. It may take what is
    /// free.
    Again,
    /// An offer was made to it, from this end. It owns what the offer carries; if it looks in vain
    /// (its offer only meant "look again"), it goes back to its place.
    Offered(From),
    /// A release of all reached it. If it waits on, it is a newcomer.
    Released,
}

/// What a waiter brings along, by what leads it to its list.
type KeyOf<L> = <<L as Holds>::Kind as Kind>::Key;

/// One future's place in a [`WaitList`].
///
/// It is `!Unpin`: pin it inside the future that waits. It may be polled by one task after
/// another; the last one that polled it is woken. After its look answered it is idle and may wait
/// again.
///
/// # Cancel safety
///
/// Dropping it is safe at any time, takes the lock for a moment if it is linked, and hands an
/// offer on; see [`WaitList`]. It loses its place.
pub struct Waiter<L: Holds> {
    holder: L,
    /// In a revocable list, where the executor finds this waiter. Touched by the owner alone.
    pub(super) watch: Cell<Option<Watch>>,
    /// The task of ours that polled it last, while it waits. Touched by the owner alone.
    task: Cell<Option<u64>>,
    node: Node<Entry<L::Kind>>,
}

// SAFETY: [wait-list.state] what others reach of a waiter is its node, under the lock: wakers,
// which are `Send`, and the key, which has to be. The rest moves with it.
unsafe impl<L: Holds + Send> Send for Waiter<L> where KeyOf<L>: Send {}

// SAFETY: [wait-list.state] a shared waiter gives out its holder and one atomic, nothing else.
unsafe impl<L: Holds + Sync> Sync for Waiter<L> where KeyOf<L>: Send {}

impl<L: Holds> Waiter<L> {
    /// A waiter that does not wait yet.
    #[inline(always)]
    #[must_use]
    pub fn new(holder: L, key: KeyOf<L>) -> Self {
        Self {
            holder,
            watch: Cell::new(None),
            task: Cell::new(None),
            node: Node::new(Entry::new(key)),
        }
    }

    /// What leads to the list.
    #[inline]
    pub fn holder(&self) -> &L {
        &self.holder
    }

    /// Whether a release of all has reached it and is done with it. Takes no lock; a release under
    /// way may not show yet.
    #[inline]
    #[must_use]
    pub fn was_released(&self) -> bool {
        self.node.value().was_released()
    }

    /// As [`was_released`](Self::was_released); if so, the waiter is idle again, as if it had been
    /// polled. Takes no lock.
    #[inline]
    pub fn take_release(self: Pin<&mut Self>) -> bool {
        if !self.was_released() {
            return false;
        }
        drop(self.watch.take());
        self.end_release();
        true
    }

    /// A release has let go of the node: it is the owner's alone, and idle from here.
    #[inline]
    fn end_release(&self) {
        // SAFETY: [wait-list.node] it is our own node, and nobody else's.
        let node = unsafe { Held::new(NonNull::from(&self.node)) };
        node.with(|state| state.place = Place::Idle);
        node.note_idle();
    }

    /// Takes what was offered to it, if that can be done without the lock; the waiter is idle again
    /// then, as if its look had answered. `None` says nothing: [`poll_wait`](Self::poll_wait) finds
    /// every offer.
    ///
    /// For a primitive whose waiter need not look at the queue when it owns what the offer carries.
    /// Call it in the poll whose context this is.
    #[inline]
    pub fn take_offer(self: Pin<&mut Self>, cx: &Context<'_>) -> Option<From> {
        let node = NonNull::from(&self.node);
        let task = Who::of(cx.waker()).number();
        let is_of_task = task.is_some() && task == self.task.get();
        let is_alone = is_of_task && !<L::Kind as Kind>::IS_TAKEN_BACK;
        if !self.holder.list().core().lone.take(node, is_alone) {
            return None;
        }
        // SAFETY: [wait-list.lone] out of the slot by our exchange: it is nobody else's.
        let node = unsafe { Held::new(node) };
        let from = node.with(|state| {
            debug_assert!(state.waker.is_none(), "wait-list.woken: not woken");
            state.place = Place::Idle;
            state.from
        });
        node.note_idle();
        Some(from)
    }

    /// Takes the waiter out of the list as its drop would. Returns whether a release had reached
    /// it, which it then has not acted upon.
    pub fn withdraw(self: Pin<&mut Self>) -> bool {
        self.leave()
    }

    /// Takes the waiter out of the list as its drop would, and gives its key back for good.
    ///
    /// For a key that holds something worth saving: the value of a send that is abandoned.
    pub fn abandon<R>(self: Pin<&mut Self>, f: impl FnOnce(&mut KeyOf<L>) -> R) -> R {
        let _ = self.leave();
        // SAFETY: [wait-list.node] nothing is moved out of the waiter but what `f` takes out of
        // the key, which is not pinned.
        let this = unsafe { self.get_unchecked_mut() };
        f(this.node.value_mut().key_mut())
    }

    /// Waits until `look` answers.
    ///
    /// `look` is asked under the lock and says, from the primitive's words and from why it is
    /// asked, whether this waiter is done. If it says `None` the waiter is queued before the lock
    /// is released, so that whatever changes afterwards finds it. It may be asked more than once
    /// in a poll. `queue` shows the others; the waiter itself is not in it during the look.
    ///
    /// `look` follows the rules of [`Kind`]'s methods. If it panics, the waiter is idle.
    pub fn poll_wait<R>(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut look: impl FnMut(&mut Queue<'_, L::Kind>, &mut KeyOf<L>, Why) -> Option<R>,
    ) -> Poll<R> {
        let this = self.as_ref().get_ref();
        let list = this.holder.list();
        if list.home.as_shared().is_some() || !this.node.value().is_idle() {
            return this.poll_again(cx, &mut look);
        }
        let who = Who::of(cx.waker());
        this.task.set(who.number());
        // CLAIM: [wait-list.outside] if it is not left in the node it is dropped after the section.
        let waker = cx.waker().clone();
        let mut section = Section::new(list.core());
        // SAFETY: [wait-list.node] it is our own node, and the lock is held until the section ends.
        let node = unsafe { Held::new(NonNull::from(&this.node)) };
        let mut answer = ask(&mut section, node, &mut look, Why::First);
        if answer.is_none() && section.may_have_offer(who) {
            answer = ask_for_another(&mut section, node, who, &mut look);
        }
        match answer {
            Some(result) => {
                drop(section);
                Poll::Ready(result)
            }
            None => {
                section.inner().join(node, who, waker);
                Poll::Pending
            }
        }
    }

    /// As [`poll_wait`](Self::poll_wait): whatever state the waiter is in, and of whatever list.
    #[inline(never)]
    fn poll_again<R>(
        &self,
        cx: &mut Context<'_>,
        look: &mut impl FnMut(&mut Queue<'_, L::Kind>, &mut KeyOf<L>, Why) -> Option<R>,
    ) -> Poll<R> {
        let who = Who::of(cx.waker());
        self.task.set(who.number());
        self.watch_if_revocable(who);
        // Whatever waker is to be dropped ends up here, and is dropped without the lock.
        let mut spare = self.node.value().is_idle().then(|| cx.waker().clone());
        loop {
            let verdict = {
                let mut section = Section::new(self.holder.list().core());
                // SAFETY: [wait-list.node] it is our own node, and the lock is held until the
                // section ends.
                let node = unsafe { Held::new(NonNull::from(&self.node)) };
                let turn = Turn {
                    node,
                    who,
                    waker: cx.waker(),
                    spare: &mut spare,
                };
                turn.take(&mut section, look)
            };
            match verdict {
                Verdict::Done(result) => {
                    drop(self.watch.take());
                    return Poll::Ready(result);
                }
                Verdict::Parked => return Poll::Pending,
                Verdict::NeedsWaker => spare = Some(cx.waker().clone()),
            }
        }
    }

    /// Lets the executor find this waiter, if its list is revocable and its task is one of ours.
    #[inline]
    fn watch_if_revocable(&self, who: Who) {
        if let Some(shared) = self.holder.list().home.as_shared() {
            self.watch_for(shared, who);
        }
    }

    #[cold]
    fn watch_for(&self, shared: &Shared<L::Kind>, who: Who) {
        let watch = self.watch.take();
        let watch = match (watch, who.number()) {
            (Some(watch), Some(task)) if watch.is_of(task) => Some(watch),
            (_, Some(task)) => {
                // SAFETY: [wait-list.node] the waiter is pinned and drops the watch before it dies,
                // in `leave` or at the end of the wait. If it is forgotten it does not die.
                Some(unsafe { Watch::new(task, shared, NonNull::from(&self.node)) })
            }
            (_, None) => None,
        };
        self.watch.set(watch);
    }

    /// Whether a release had reached it.
    #[inline]
    fn leave(&self) -> bool {
        drop(self.watch.take());
        !self.node.value().is_idle() && self.leave_list()
    }

    #[inline(never)]
    fn leave_list(&self) -> bool {
        if self.was_released() {
            self.end_release();
            return true;
        }
        // SAFETY: [wait-list.node] it is our own node, and the lock is held below.
        let node = unsafe { Held::new(NonNull::from(&self.node)) };
        let mut section = Section::new(self.holder.list().core());
        let left = section.dismiss(node);
        node.note_idle();
        left == Left::Released
    }
}

enum Verdict<R> {
    /// The look answered; the node is idle.
    Done(R),
    /// The node is queued with a waker that wakes the caller.
    Parked,
    /// The node is queued, but for the waker: clone one without the lock, and come again.
    NeedsWaker,
}

/// Asks the look of the node's waiter.
#[inline(always)]
fn ask<K: Kind, R>(
    section: &mut Section<'_, K>,
    node: Held<K>,
    look: &mut impl FnMut(&mut Queue<'_, K>, &mut K::Key, Why) -> Option<R>,
    why: Why,
) -> Option<R> {
    node.with(|state| look(&mut section.queue(), &mut state.key, why))
}

/// Asks again if something was offered to another waiter of the same task that will do.
#[cold]
fn ask_for_another<K: Kind, R>(
    section: &mut Section<'_, K>,
    node: Held<K>,
    who: Who,
    look: &mut impl FnMut(&mut Queue<'_, K>, &mut K::Key, Why) -> Option<R>,
) -> Option<R> {
    let from = section.take_over(node, who)?;
    ask(section, node, look, Why::Offered(from))
}

/// One visit of a waiter to its queue, during a poll.
struct Turn<'a, K: Kind> {
    node: Held<K>,
    who: Who,
    waker: &'a Waker,
    spare: &'a mut Option<Waker>,
}

impl<K: Kind> Turn<'_, K> {
    fn take<R>(
        self,
        section: &mut Section<'_, K>,
        look: &mut impl FnMut(&mut Queue<'_, K>, &mut K::Key, Why) -> Option<R>,
    ) -> Verdict<R> {
        let node = self.node;
        let is_behind = section.inner().is_behind(node);
        let mut answer = None;
        if !is_behind {
            let left = if node.is_idle() {
                Left::Idle
            } else {
                section.unlink(node)
            };
            node.note_idle();
            let why = match left {
                Left::Idle => Some(Why::First),
                Left::Waiting => Some(Why::Again),
                Left::Lapsed => (!section.inner().is_preceded(node)).then_some(Why::Again),
                Left::Offered(from) => Some(Why::Offered(from)),
                Left::Released => Some(Why::Released),
            };
            answer = why.and_then(|why| ask(section, node, look, why));
            if matches!(left, Left::Idle | Left::Released) {
                let arrival = section.inner().arrive();
                node.with(|state| state.arrival = arrival);
            }
        }
        let mut is_linked = is_behind;
        if answer.is_none() && section.may_have_offer(self.who) {
            if let Some(from) = section.take_over(node, self.who) {
                is_linked = false;
                answer = ask(section, node, look, Why::Offered(from));
            }
        }
        if let Some(result) = answer {
            node.note_idle();
            self.discard_waker();
            return Verdict::Done(result);
        }
        node.with(|state| state.who = self.who);
        if !is_linked {
            section.inner().enqueue(node);
        }
        self.park()
    }

    /// Leaves a waker in the node that wakes the caller.
    fn park<R>(self) -> Verdict<R> {
        self.node.with(|state| {
            if state
                .waker
                .as_ref()
                .is_some_and(|old| old.will_wake(self.waker))
            {
                return Verdict::Parked;
            }
            std::mem::swap(&mut state.waker, self.spare);
            match state.waker {
                Some(_) => Verdict::Parked,
                // The old one wakes the wrong task: better none until the new one is here.
                None => Verdict::NeedsWaker,
            }
        })
    }

    /// Takes what is left of a waker out of the node, to be dropped without the lock.
    fn discard_waker(self) {
        let old = self.node.with(|state| state.waker.take());
        if self.spare.is_none() {
            *self.spare = old;
        } else {
            // Only a first look has a spare, and then the node has no waker.
            debug_assert!(old.is_none(), "wait-list.outside: two wakers to drop");
        }
    }
}

impl<L: Holds> Drop for Waiter<L> {
    #[inline]
    fn drop(&mut self) {
        let _ = self.leave();
    }
}

impl<L: Holds> fmt::Debug for Waiter<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiter")
            .field("idle", &self.node.value().is_idle())
            .field("released", &self.was_released())
            .finish_non_exhaustive()
    }
}
