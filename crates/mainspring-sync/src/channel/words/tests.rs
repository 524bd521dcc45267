//! The words alone, as narrow as they can be, against a count on paper.

use super::{Claimed, Closing, OnPark, Redeem, Refusal, Room, Told, Turn, Vacancy, Words};
use crate::channel::shape::{Shape, Widths};
use proptest::prelude::*;

/// Four bits of position: a ring of three slots has four laps, twelve positions in all.
struct Tiny;

impl Widths for Tiny {
    const POSITION: u32 = 4;
    const HELD: u32 = 2;
}

fn words(capacity: usize) -> Words<Tiny> {
    Words::new(Shape::new(capacity), Some(capacity))
}

fn claim(words: &Words<Tiny>) -> Option<Claimed> {
    loop {
        let tail = words.tail();
        if tail.refusal(Turn::Newcomer).is_some() || matches!(words.room(tail), Room::Full) {
            return None;
        }
        if let Ok(claimed) = words.claim(tail) {
            return Some(claimed);
        }
    }
}

fn hold(words: &Words<Tiny>) -> bool {
    loop {
        let tail = words.tail();
        let is_refused = tail.refusal(Turn::Newcomer).is_some() || Words::holds_all(tail);
        if is_refused || matches!(words.room(tail), Room::Full) {
            return false;
        }
        if words.hold(tail).is_ok() {
            return true;
        }
    }
}

fn take(words: &Words<Tiny>) -> Option<bool> {
    loop {
        let head = words.head();
        if matches!(words.vacancy(head), Vacancy::Empty | Vacancy::Closed) {
            return None;
        }
        if let Ok(taken) = words.take(head) {
            return Some(taken.senders_wait);
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Claim,
    Hold,
    Redeem,
    Release,
    Take,
    Close,
    Leave,
    ReceiverParks,
    SenderParks,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => Just(Step::Claim),
        4 => Just(Step::Hold),
        3 => Just(Step::Redeem),
        2 => Just(Step::Release),
        10 => Just(Step::Take),
        1 => Just(Step::Close),
        1 => Just(Step::Leave),
        2 => Just(Step::ReceiverParks),
        2 => Just(Step::SenderParks),
    ]
}

#[derive(Default)]
struct Paper {
    messages: usize,
    held: usize,
    closed: bool,
    gone: bool,
    receivers_wait: bool,
    senders_wait: bool,
}

impl Paper {
    fn has_room(&self, capacity: usize) -> bool {
        self.messages + self.held < capacity
    }

    fn told(&self) -> Told {
        match (self.receivers_wait, self.closed && self.held == 0) {
            (false, _) => Told::Nobody,
            (true, false) => Told::Receiver,
            (true, true) => Told::Receivers,
        }
    }

    fn begins(&self, capacity: usize) -> bool {
        self.has_room(capacity) && !self.closed && !self.senders_wait
    }
}

/// One step on the words and on paper; what they say must be the same.
fn apply(words: &Words<Tiny>, paper: &mut Paper, capacity: usize, step: Step) {
    match step {
        Step::Claim => {
            let claimed = claim(words);
            assert_eq!(claimed.is_some(), paper.begins(capacity), "{words:?}");
            if let Some(claimed) = claimed {
                assert_eq!(claimed.told, paper.told());
                paper.messages += 1;
            }
        }
        Step::Hold => {
            let may = paper.begins(capacity) && paper.held < 3;
            assert_eq!(hold(words), may, "{words:?}");
            paper.held += usize::from(may);
        }
        Step::Redeem if paper.held > 0 => {
            paper.held -= 1;
            match words.redeem() {
                Redeem::Claimed(claimed) => {
                    assert!(!paper.gone);
                    assert_eq!(claimed.told, paper.told());
                    paper.messages += 1;
                }
                Redeem::Gone => assert!(paper.gone),
            }
        }
        Step::Release if paper.held > 0 => {
            paper.held -= 1;
            let freed = words.release();
            let is_end = paper.told() == Told::Receivers;
            assert_eq!(freed.told == Told::Receivers, is_end);
            assert_eq!(freed.senders_wait, paper.senders_wait);
        }
        Step::Redeem | Step::Release => {}
        Step::Take => match take(words) {
            Some(senders_wait) => {
                assert_eq!(senders_wait, paper.senders_wait);
                paper.messages -= 1;
            }
            None => assert_eq!(paper.messages, 0, "{words:?}"),
        },
        Step::Close | Step::Leave => shut(words, paper, matches!(step, Step::Leave)),
        Step::ReceiverParks => {
            let ended = paper.closed && paper.held == 0;
            let waits = words.receiver_parks() == OnPark::Wait;
            assert_eq!(waits, paper.messages == 0 && !ended);
            paper.receivers_wait = waits;
            if !waits {
                words.no_receiver_waits();
            }
        }
        Step::SenderParks => {
            let is_full = !paper.has_room(capacity) || paper.held == 3;
            let waits = words.sender_parks() == OnPark::Wait;
            assert_eq!(waits, is_full && !paper.closed, "{words:?}");
            paper.senders_wait = waits;
            if !waits {
                words.no_sender_waits();
            }
        }
    }
}

fn shut(words: &Words<Tiny>, paper: &mut Paper, is_gone: bool) {
    let closing = if is_gone {
        words.leave()
    } else {
        words.close()
    };
    assert_eq!(closing == Closing::First, !paper.closed);
    paper.closed = true;
    paper.gone |= is_gone;
}

proptest! {
    // WITNESS: words.capacity, words.closed, words.end
    /// S7, S8, S12, B140: any row of steps, many times around the tiny words.
    #[test]
    fn words_agree_with_a_count_on_paper(
        capacity in 1_usize..=4,
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let words = words(capacity);
        let mut paper = Paper::default();
        for step in steps {
            apply(&words, &mut paper, capacity, step);
            // Waiting is over as soon as its reason is; the shell's business.
            if paper.senders_wait && paper.has_room(capacity) {
                words.no_sender_waits();
                paper.senders_wait = false;
            }
            prop_assert_eq!(words.len(), paper.messages);
            prop_assert_eq!(words.is_closed(), paper.closed);
            prop_assert_eq!(words.has_no_room(), !paper.has_room(capacity));
            prop_assert_eq!(words.tail().held(), paper.held as u64);
            let is_end = paper.messages == 0 && paper.closed && paper.held == 0;
            let says_end = matches!(words.vacancy(words.head()), Vacancy::Closed);
            prop_assert_eq!(says_end, is_end);
        }
    }
}

#[test]
fn waiting_sender_sends_newcomers_to_the_queue_and_not_its_own() {
    let words = words(1);
    assert!(claim(&words).is_some());
    assert_eq!(words.sender_parks(), OnPark::Wait);
    assert_eq!(take(&words), Some(true));
    assert_eq!(words.tail().refusal(Turn::Newcomer), Some(Refusal::Queue));
    assert_eq!(words.tail().refusal(Turn::Queued), None);
    words.no_sender_waits();
    assert_eq!(words.tail().refusal(Turn::Newcomer), None);
}

#[test]
fn length_read_between_two_moving_ends_stays_in_range() {
    // As if the tail had been read before the head passed it.
    let words = words(3);
    let old = words.tail();
    assert!(claim(&words).is_some());
    assert_eq!(take(&words), Some(false));
    let distance = words
        .shape()
        .distance(words.head().position(), old.position());
    assert_eq!(distance, -1);
    assert!(!words.is_full(old, words.head()));
}
