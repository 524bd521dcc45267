//! Linked blocks of slots: the storage of unbounded channels, and of large bounded ones.
//!
//! ```text
//!   head, in lap 4                                 tail, in lap 6
//!      ▼                                              ▼
//!   [ block of lap 4 ] ──next─▶ [ lap 5 ] ──next─▶ [ lap 6 ]
//!      ▲                                              ▲
//!   gate: 4 | pops inside                          newest, lap
//! ```
//!
//! The index words are those of [`words`](super::words); a lap of positions is a block. How full
//! the channel is, they say alone: a slot is never in anybody's way, and neither a push nor a
//! request for a permit is ever told Busy.
//!
//! # Where a block begins
//!
//! The block of a lap is there before the first of its positions can be claimed. A push, or a
//! permit that is redeemed, first makes sure of that and notes the newest block, and then claims;
//! it touches the block only afterwards. Whoever comes first to a lap without a block takes a spare
//! or allocates one *before* it claims anything, with no lock held, and links it under the lock.
//! The others sleep until the lock is free. It is held for a few stores, or for a look at the
//! stamps of the blocks that have ended, and by nobody who allocates, frees, or runs code of the
//! user's: one that is preempted just then holds up those who come to the same boundary, and no
//! others. A permit is a credit of the words: its turn is when it is redeemed.
//!
//! # Where a block ends
//!
//! A pop has to look at a slot before it takes the position (it must not take what is not written),
//! so it may look at a block that others have emptied meanwhile. It therefore enters the lap first:
//! one exchange of the *gate*, which holds the lap that is being read and the number of those
//! inside. A pop that takes a message stays counted, one that takes nothing leaves again. When all
//! positions of the lap are taken, the first pop that finds the next block moves the gate on, under
//! the lock, and reads from the old value how many others are inside: besides one for each slot,
//! these are *strays*. The block is spent when every slot says read and as many strays have gone.
//!
//! Blocks that are spent are looked for whenever the gate moves. Two are kept as spares, the others
//! are freed. So an empty channel that nobody is at work in holds its current block, two spares,
//! and at most one more for each pop that was under way when the gate last moved. A channel in
//! which nothing was ever sent has no block at all.
//!
//! # Invariants
//!
//! - **blocks.claimed** — a block pointer that was noted before a claim is that of the claimed lap,
//!   if the claim succeeds: the next lap's block is made only after the tail has left this lap.
//! - **blocks.pinned** — a block is not given away while somebody is counted inside it.
//! - **blocks.owner** — a slot's value is written by whoever claimed its position and read by
//!   whoever took it, and its stamp by the same, each once in the life of a block.
//! - **blocks.freed** — a block is freed once: when it is spent, or with the storage.
//! - **blocks.few** — at most two blocks are kept that hold nothing and that nobody uses.
//! - **blocks.dropped** — messages in a storage that is dropped are dropped once, whatever panics.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `blocks.written` | [`Blocks::push`], [`Blocks::redeem`] | [`Blocks::pop`] | the message |
//! | `blocks.newest` | `append` | `block_of` | the new block; that the tail is in its lap |
//! | `blocks.gate` | `move_on`, `Front::set` | `enter` | its block; that the head is in its lap |
//! | `blocks.spent` | `read_out`, `stray_goes`, `drop` | `is_spent`, `move_on` | the end of use |
//!
//! # Rejected
//!
//! The linked blocks of crossbeam's `SegQueue`, from which the lap and the "read" stamps are: a pop
//! there takes the position first and then spins until it is written, and all pushes spin while one
//! of them links a block. The block list of tokio's mpsc: one receiver. A list that pushes walk
//! from a lagging pointer, linking what is missing: lock-free, but then pushes need to be counted
//! as well as pops. Epochs: all memory waits for a thread that sleeps, here one block. Keeping
//! blocks for the life of the channel, so that pops need no gate: a burst would stay.

use super::ring::{Pop, Push};
use super::shape::{Position, Shape, Wide, Widths};
use super::words::{
    Claimed, Head, Redeem, Refusal, Reserve, Room, Tail, Told, Turn, Vacancy, Words,
};
use mainspring_core::payload::Steps;
use mainspring_core::sync::Mutex;
use mainspring_core::sync::atomic::{
    AtomicPtr, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::fmt;
use std::ptr::{NonNull, null_mut};

mod block;
mod gate;
mod lists;

use self::block::{Block, Owned};
use self::gate::Front;
use self::lists::Lists;

/// Slots of a block.
#[cfg(not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle)))]
const SLOTS: usize = 32;

#[cfg(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))]
const SLOTS: usize = 2;

/// What pushes look at. Changed under the lock.
#[repr(align(128))]
struct Back<T> {
    /// The lap of the newest block.
    lap: AtomicU64,
    newest: AtomicPtr<Block<T>>,
}

/// The storage.
pub(crate) struct Blocks<T, W: Widths = Wide> {
    words: Words<W>,
    back: Back<T>,
    front: Front<T>,
    lists: Mutex<Lists<T>>,
}

// SAFETY: [blocks.owner] values are moved in and out, by one thread at a time and never shared.
unsafe impl<T: Send, W: Widths> Send for Blocks<T, W> {}

// SAFETY: [blocks.owner] as for `Send`: no reference to a value is ever given out.
unsafe impl<T: Send, W: Widths> Sync for Blocks<T, W> {}

impl<T, W: Widths> Blocks<T, W> {
    const LAPS: u64 = 1 << (W::POSITION - SLOTS.trailing_zeros());

    /// An empty storage for that many messages, or for any number. It allocates nothing.
    pub(crate) fn new(capacity: Option<usize>) -> Self {
        const {
            assert!(SLOTS.is_power_of_two(), "a position is lap and slot");
        }
        Self {
            words: Words::new(Shape::new(SLOTS), capacity),
            back: Back {
                // That before the first.
                lap: AtomicU64::new(Self::LAPS - 1),
                newest: AtomicPtr::new(null_mut()),
            },
            front: Front::new(),
            lists: Mutex::new(Lists::new()),
        }
    }

    #[inline(always)]
    pub(crate) fn words(&self) -> &Words<W> {
        &self.words
    }

    #[inline(always)]
    fn lap(position: Position) -> u64 {
        position.0 / SLOTS as u64
    }

    #[inline(always)]
    fn index(position: Position) -> usize {
        (position.0 % SLOTS as u64) as usize
    }

    fn lap_after(lap: u64) -> u64 {
        (lap + 1) % Self::LAPS
    }

    #[inline(always)]
    fn room(&self, tail: Tail<W>) -> Room<W> {
        if self.words.capacity().is_none() {
            return Room::Free;
        }
        self.words.room(tail)
    }

    /// Adds a message at the end. Never Busy.
    #[inline(never)]
    pub(crate) fn push(&self, value: T, turn: Turn) -> Push<T> {
        let mut tail = self.words.tail();
        loop {
            match tail.refusal(turn) {
                None => {}
                Some(Refusal::Closed) => return Push::Closed(value),
                Some(Refusal::Queue) => return Push::Queue(value),
            }
            match self.room(tail) {
                Room::Free => {}
                Room::Full => return Push::Full(value),
                Room::Changed(now) => {
                    tail = now;
                    continue;
                }
            }
            let block = self.block_of(tail);
            match self.words.claim(tail) {
                // SAFETY: [blocks.claimed] noted with this tail, before the claim.
                Ok(claimed) => return Push::Done(unsafe { Self::write(block, claimed, value) }),
                Err(now) => tail = now,
            }
        }
    }

    /// Holds room for one message. Never Busy.
    pub(crate) fn reserve(&self, turn: Turn) -> Reserve {
        let mut tail = self.words.tail();
        loop {
            match tail.refusal(turn) {
                None => {}
                Some(Refusal::Closed) => return Reserve::Closed,
                Some(Refusal::Queue) => return Reserve::Queue,
            }
            if Words::holds_all(tail) {
                return Reserve::Full;
            }
            match self.room(tail) {
                Room::Free => {}
                Room::Full => return Reserve::Full,
                Room::Changed(now) => {
                    tail = now;
                    continue;
                }
            }
            match self.words.hold(tail) {
                Ok(()) => return Reserve::Held,
                Err(now) => tail = now,
            }
        }
    }

    /// Whether a permit that was [overdrawn](Words::overdraw) finds a slot: always.
    pub(crate) fn is_covered(&self) -> bool {
        true
    }

    /// Adds a message in exchange for a held permit, which is used up.
    ///
    /// # Errors
    ///
    /// The value, if no receiver is left.
    pub(crate) fn redeem(&self, value: T) -> Result<Told, T> {
        let mut tail = self.words.tail();
        loop {
            let block = self.block_of(tail);
            match self.words.redeem_at(tail) {
                Ok(Redeem::Claimed(claimed)) => {
                    // SAFETY: [blocks.claimed] noted with this tail, before the claim.
                    return Ok(unsafe { Self::write(block, claimed, value) });
                }
                Ok(Redeem::Gone) => return Err(value),
                Err(now) => tail = now,
            }
        }
    }

    /// The block of the tail's lap, or of a later lap, if the tail has changed since.
    #[inline(always)]
    fn block_of(&self, tail: Tail<W>) -> *mut Block<T> {
        let lap = Self::lap(tail.position());
        // ORDERING: [blocks.newest] Acquire, pairs with the store in `append`: the pointer is at
        // least as new. Relaxed would let it be that of the lap before.
        if self.back.lap.load(Acquire) != lap {
            self.make(lap);
        }
        // ORDERING: [blocks.newest] Acquire, pairs with the store in `append`: the block is made,
        // and if it is a later one, the tail is seen to have left ours, so that the claim fails.
        // Relaxed would let a claim succeed with the wrong block.
        self.back.newest.load(Acquire)
    }

    /// # Safety
    ///
    /// The block was noted with the tail that was replaced by the claim.
    #[inline(always)]
    unsafe fn write(block: *mut Block<T>, claimed: Claimed, value: T) -> Told {
        // SAFETY: [blocks.claimed] it is the block of that lap, says the caller, and it stays while
        // the slot is not read out.
        let block = unsafe { &*block };
        debug_assert!(
            block.is_of(Self::lap(claimed.position)),
            "blocks.claimed: the block of another lap"
        );
        block.write(Self::index(claimed.position), value);
        claimed.told
    }

    /// Makes the block of a lap that the tail has come to, if nobody has yet.
    #[cold]
    #[inline(never)]
    fn make(&self, lap: u64) {
        let mut fresh = None;
        loop {
            let mut lists = self.lists.lock();
            if Self::lap_after(self.back.lap.load(Relaxed)) != lap {
                // Somebody has. Ours is a spare, or is freed when the lock is released.
                let surplus = fresh.and_then(|block| lists.keep(block));
                drop(lists);
                drop(surplus);
                return;
            }
            if let Some(block) = fresh.take().or_else(|| lists.spare()) {
                return self.append(block.into_use(lap), lap);
            }
            drop(lists);
            fresh = Some(Owned::allocate());
        }
    }

    /// Under the lock.
    fn append(&self, block: NonNull<Block<T>>, lap: u64) {
        match NonNull::new(self.back.newest.load(Relaxed)) {
            None => self.front.set(lap, block),
            // SAFETY: [blocks.pinned] the gate moves off a block only when the next one is linked,
            // so the newest is in use.
            Some(newest) => unsafe { newest.as_ref() }.link(block),
        }
        // ORDERING: [blocks.newest] Release, pairs with both loads in `block_of`. Relaxed would
        // show a block before it is made, or hide that the tail has come to this lap.
        self.back.newest.store(block.as_ptr(), Release);
        // ORDERING: [blocks.newest] as above: whoever finds the lap finds its block.
        self.back.lap.store(lap, Release);
    }

    /// Takes the oldest message.
    #[inline(never)]
    pub(crate) fn pop(&self) -> Pop<T> {
        let mut pin = self.enter();
        // Always after we entered: it is not seen in an earlier lap than the one entered.
        let mut head = self.words.head();
        loop {
            let Some(entered) = pin else {
                // There was no block when we looked.
                if let Ok(verdict) = self.vacancy(head) {
                    return verdict;
                }
                pin = self.enter();
                head = self.words.head();
                continue;
            };
            let is_here = Self::lap(head.position()) == entered.lap();
            debug_assert!(
                is_here || !self.is_before(head, entered.lap()),
                "blocks.gate: a head in an earlier lap"
            );
            let index = Self::index(head.position());
            if is_here && entered.block().is_written(index) {
                match self.words.take(head) {
                    Ok(taken) => return Pop::Got(entered.read_out(index), taken.senders_wait),
                    Err(now) => head = now,
                }
                pin = Some(entered);
            } else if !is_here && entered.block().has_next() {
                pin = entered.move_on();
                head = self.words.head();
            } else {
                match self.vacancy(head) {
                    Ok(verdict) => return verdict,
                    Err(now) => head = now,
                }
                pin = Some(entered);
            }
        }
    }

    /// Whether a head is in an earlier lap than this one.
    fn is_before(&self, head: Head<W>, lap: u64) -> bool {
        let first = Position(lap * SLOTS as u64);
        self.words.shape().distance(first, head.position()) < 0
    }

    /// What it means that nothing lies written at `seen`, or that no block is seen for it.
    ///
    /// # Errors
    ///
    /// The head has changed meanwhile: begin again with this one.
    fn vacancy(&self, seen: Head<W>) -> Result<Pop<T>, Head<W>> {
        match self.words.vacancy(seen) {
            Vacancy::Empty => Ok(Pop::Empty),
            Vacancy::Closed => Ok(Pop::Closed),
            // Or it is linked, and we have not seen that yet, nor the claim that came after.
            Vacancy::Busy => Ok(Pop::Busy),
            Vacancy::Changed(now) => Err(now),
        }
    }

    /// Frees the blocks from the one that is being read on. Nobody else uses the storage.
    fn free_all(&mut self) {
        let mut block = self.front.current();
        while let Some(current) = block {
            // SAFETY: [blocks.freed] it is linked, and nobody else uses it; the next is freed as
            // well, which is why it is looked for first.
            block = NonNull::new(unsafe { current.as_ref() }.next());
            // SAFETY: [blocks.freed] as above, and the messages were taken out.
            drop(unsafe { Owned::new(current) });
        }
    }
}

impl<T, W: Widths> Drop for Blocks<T, W> {
    fn drop(&mut self) {
        // CLAIM: [blocks.dropped] each value leaves its slot before its destructor runs, and one
        // that panics does not keep the others.
        let mut steps = Steps::default();
        while let Pop::Got(value, _) = self.pop() {
            steps.run(|| drop(value));
        }
        self.free_all();
        steps.finish();
    }
}

impl<T, W: Widths> fmt::Debug for Blocks<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocks")
            .field("words", &self.words)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
