//! The log against a model that keeps every message ever sent and each receiver's place in it.

use crate::broadcast::Slow;
use crate::broadcast::log::{Cursor, Log, Owed, Refusal, Senders, Sent, Take};
use proptest::prelude::*;
use proptest::sample::Index;
use std::rc::{Rc, Weak};

const ALL: [Slow; Slow::COUNT] = [Slow::Lag, Slow::Wait, Slow::Disconnect, Slow::Latest];

#[derive(Clone, Debug)]
enum Op {
    Subscribe(usize),
    Copy(Index),
    Leave(Index),
    Take(Index),
    Send,
    Claim,
    SendClaimed,
    Unclaim,
    Offer,
    Withdraw,
    ClaimOffered,
    Close,
    ReceiverWaits,
    SendersWait(bool),
    WatcherWaits,
    Collect,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => (0..ALL.len()).prop_map(Op::Subscribe),
        2 => any::<Index>().prop_map(Op::Copy),
        3 => any::<Index>().prop_map(Op::Leave),
        12 => any::<Index>().prop_map(Op::Take),
        12 => Just(Op::Send),
        2 => Just(Op::Claim),
        2 => Just(Op::SendClaimed),
        1 => Just(Op::Unclaim),
        1 => Just(Op::Offer),
        1 => Just(Op::Withdraw),
        1 => Just(Op::ClaimOffered),
        1 => prop::bool::weighted(0.1).prop_map(|close| if close { Op::Close } else { Op::Send }),
        2 => Just(Op::ReceiverWaits),
        2 => any::<bool>().prop_map(Op::SendersWait),
        1 => Just(Op::WatcherWaits),
        4 => Just(Op::Collect),
    ]
}

#[derive(Clone, Debug)]
struct Reader {
    slow: Slow,
    /// The number of its next message.
    next: usize,
    cut: bool,
}

/// Numbers count messages from the first ever sent, and nothing is forgotten.
struct Model {
    capacity: usize,
    sent: usize,
    /// Messages below this were taken from somebody.
    floor: usize,
    readers: Vec<Reader>,
    permits: usize,
    offers: usize,
    closed: bool,
    receiver_waits: bool,
    senders_wait: bool,
    watcher_waits: bool,
}

impl Model {
    fn needs(&self, reader: &Reader) -> usize {
        match reader.slow {
            Slow::Latest if reader.next < self.sent => self.sent - 1,
            _ => reader.next.max(self.floor),
        }
    }

    fn live(&self) -> impl Iterator<Item = &Reader> {
        self.readers.iter().filter(|reader| !reader.cut)
    }

    fn oldest(&self) -> usize {
        let needs = self.live().map(|reader| self.needs(reader));
        needs.min().unwrap_or(self.sent)
    }

    fn room(&self) -> usize {
        let holders = self.live().filter(|reader| reader.slow == Slow::Wait);
        let slowest = holders.map(|reader| reader.next).min();
        let pinned = self.sent - slowest.unwrap_or(self.sent);
        self.capacity - pinned - self.permits - self.offers
    }

    fn refusal(&self) -> Option<Refusal> {
        if self.closed {
            Some(Refusal::Closed)
        } else if self.live().count() == 0 {
            Some(Refusal::NoReceivers)
        } else {
            None
        }
    }

    fn push(&mut self) -> Result<(), Refusal> {
        let (floor, sent) = (self.floor, self.sent);
        let up_to_date = |reader: &Reader| match reader.slow {
            Slow::Latest => sent,
            _ => reader.next.max(floor),
        };
        let oldest = self.live().map(up_to_date).min().unwrap_or(sent);
        if sent - oldest == self.capacity {
            self.floor = oldest + 1;
            for reader in &mut self.readers {
                assert!(reader.slow != Slow::Wait || reader.next > oldest);
                reader.cut |= reader.slow == Slow::Disconnect && reader.next <= oldest;
            }
        }
        if self.live().count() == 0 {
            return Err(Refusal::NoReceivers);
        }
        self.sent += 1;
        Ok(())
    }

    fn claim(&mut self) -> Result<(), Refusal> {
        match self.refusal() {
            Some(why) => Err(why),
            None if self.room() == 0 => Err(Refusal::Full),
            None => {
                self.permits += 1;
                Ok(())
            }
        }
    }

    fn take(&mut self, at: usize) -> Take<usize> {
        let needs = self.needs(&self.readers[at]);
        let (sent, floor) = (self.sent, self.floor);
        let is_over = self.closed && self.permits == 0;
        let reader = &mut self.readers[at];
        if reader.cut {
            return Take::Cut;
        }
        if reader.next == sent {
            return if is_over { Take::Closed } else { Take::Empty };
        }
        if reader.slow == Slow::Lag && reader.next < floor {
            let lost = floor - reader.next;
            reader.next = floor;
            return Take::Lagged(lost as u64);
        }
        reader.next = needs + 1;
        Take::Got(needs)
    }

    /// What a change owes, but for garbage.
    fn owed(&mut self, is_news: bool) -> (bool, Senders, bool) {
        let is_refused = self.refusal().is_some();
        let is_over = self.closed && self.permits == 0;
        let senders = match (self.senders_wait, is_refused, self.room()) {
            (true, true, _) => Senders::Release,
            (true, false, 1..) => Senders::Serve,
            _ => Senders::Leave,
        };
        let receivers = (is_news || is_over) && std::mem::take(&mut self.receiver_waits);
        let watchers = is_refused && std::mem::take(&mut self.watcher_waits);
        (receivers, senders, watchers)
    }
}

struct Rig {
    model: Model,
    log: Log<Rc<usize>>,
    cursors: Vec<Cursor>,
    messages: Vec<Weak<usize>>,
}

impl Rig {
    fn new(capacity: usize, head: u64) -> Self {
        Self {
            model: Model {
                capacity,
                sent: 0,
                floor: 0,
                readers: Vec::new(),
                permits: 0,
                offers: 0,
                closed: false,
                receiver_waits: false,
                senders_wait: false,
                watcher_waits: false,
            },
            log: Log::new(capacity, head),
            cursors: Vec::new(),
            messages: Vec::new(),
        }
    }

    fn check_owed(&mut self, owed: Owed, is_news: bool) {
        let expected = self.model.owed(is_news);
        assert_eq!((owed.receivers, owed.senders, owed.watchers), expected);
    }

    fn check_sent(&mut self, sent: Sent<Rc<usize>>, owed: Owed, expected: Result<(), Refusal>) {
        let (result, gone) = match sent {
            Sent::Kept(gone) => (Ok(()), gone),
            Sent::Refused { back, why, gone } => {
                assert_eq!(*back, self.messages.len());
                (Err(why), gone)
            }
        };
        assert_eq!(result, expected);
        self.check_owed(owed, result.is_ok());
        drop(gone);
    }

    fn message(&self) -> (Rc<usize>, Weak<usize>) {
        let message = Rc::new(self.messages.len());
        let weak = Rc::downgrade(&message);
        (message, weak)
    }

    fn send(&mut self) {
        let model = &mut self.model;
        let at_the_door = match model.refusal() {
            None if model.senders_wait || model.room() == 0 => Some(Refusal::Full),
            why => why,
        };
        let expected = at_the_door.map_or_else(|| model.push(), Err);
        let (message, weak) = self.message();
        let (sent, owed) = self.log.send(message);
        if let Some(expected) = at_the_door {
            // It changed nothing, and owes nothing.
            assert!(matches!(sent, Sent::Refused { why, gone: None, .. } if why == expected));
            assert!(owed.is_nothing());
        } else {
            self.check_sent(sent, owed, expected);
        }
        if expected.is_ok() {
            self.messages.push(weak);
        }
    }

    fn send_claimed(&mut self) {
        if self.model.permits == 0 {
            return;
        }
        self.model.permits -= 1;
        let expected = match self.model.live().count() {
            0 => Err(Refusal::NoReceivers),
            _ => self.model.push(),
        };
        let (message, weak) = self.message();
        let (sent, owed) = self.log.send_claimed(message);
        self.check_sent(sent, owed, expected);
        if expected.is_ok() {
            self.messages.push(weak);
        }
    }

    fn take(&mut self, at: usize) {
        let expected = self.model.take(at);
        let (taken, owed) = self.log.take(&mut self.cursors[at]);
        if matches!(expected, Take::Got(_)) {
            self.check_owed(owed, false);
        } else {
            assert!(owed.is_nothing());
        }
        let taken = match taken {
            Take::Got(message) => Take::Got(*message),
            Take::Lagged(lost) => Take::Lagged(lost),
            Take::Cut => Take::Cut,
            Take::Empty => Take::Empty,
            Take::Closed => Take::Closed,
        };
        assert_eq!(taken, expected);
    }

    fn leave(&mut self, at: usize) {
        let reader = self.model.readers.swap_remove(at);
        let cursor = self.cursors.swap_remove(at);
        let owed = self.log.leave(&cursor);
        if reader.cut {
            assert!(owed.is_nothing());
        } else {
            self.check_owed(owed, false);
        }
    }

    /// What concerns claims only.
    fn claims(&mut self, op: &Op) {
        let (model, log) = (&mut self.model, &mut self.log);
        match op {
            Op::Claim => assert_eq!(log.claim(), model.claim()),
            Op::Offer => {
                let has_room = !model.closed && model.room() > 0;
                model.offers += usize::from(has_room);
                assert_eq!(log.offer(), has_room);
            }
            Op::Withdraw if model.offers > 0 => {
                model.offers -= 1;
                log.withdraw();
            }
            Op::ClaimOffered if model.offers > 0 => {
                model.offers -= 1;
                let claimed = log.claim_offered();
                assert_ne!(claimed, Err(Refusal::Full));
                assert_eq!(claimed, model.claim());
            }
            Op::Unclaim if model.permits > 0 => {
                model.permits -= 1;
                let owed = log.unclaim();
                self.check_owed(owed, false);
            }
            _ => {}
        }
    }

    fn run(&mut self, op: Op) {
        let count = self.cursors.len();
        match op {
            Op::Subscribe(slow) => {
                let slow = ALL[slow];
                self.cursors.push(self.log.subscribe(slow));
                self.model.readers.push(Reader {
                    slow,
                    next: self.model.sent,
                    cut: false,
                });
            }
            Op::Copy(at) if count > 0 => {
                let at = at.index(count);
                self.cursors.push(self.log.copy(&self.cursors[at]));
                self.model.readers.push(self.model.readers[at].clone());
            }
            Op::Leave(at) if count > 0 => self.leave(at.index(count)),
            Op::Take(at) if count > 0 => self.take(at.index(count)),
            Op::Send => self.send(),
            Op::SendClaimed => self.send_claimed(),
            Op::Close => {
                self.model.closed = true;
                let owed = self.log.close();
                self.check_owed(owed, false);
            }
            Op::ReceiverWaits => {
                self.model.receiver_waits = true;
                self.log.note_receiver_waits();
            }
            Op::SendersWait(wait) => {
                self.model.senders_wait = wait;
                self.log.note_senders_wait(wait);
            }
            Op::WatcherWaits => {
                self.model.watcher_waits = true;
                self.log.note_watcher_waits();
            }
            Op::Collect => self.collect(),
            op => self.claims(&op),
        }
        self.check();
    }

    /// After this, exactly those messages are alive that somebody needs.
    fn collect(&mut self) {
        while self.log.collect().is_some() {}
        let oldest = self.model.oldest();
        for (number, message) in self.messages.iter().enumerate() {
            assert_eq!(message.strong_count() > 0, number >= oldest, "{number}");
        }
    }

    fn check(&self) {
        let (model, log) = (&self.model, &self.log);
        assert_eq!(log.len(), model.sent - model.oldest());
        assert!(log.len() <= model.capacity);
        assert_eq!(log.receivers(), model.live().count());
        assert_eq!(log.refusal(), model.refusal());
        assert_eq!(log.is_closed(), model.closed);
        assert_eq!(log.room(), model.room());
        for (cursor, reader) in self.cursors.iter().zip(&model.readers) {
            let unread = match reader {
                Reader { cut: true, .. } => 0,
                reader => model.sent - model.needs(reader),
            };
            assert_eq!(log.unread(cursor), unread);
        }
        self.check_counts();
    }

    /// Each receiver is counted once.
    fn check_counts(&self) {
        let slots = self.log.slots.iter().map(|slot| &slot.at);
        let everywhere = slots.chain([&self.log.end]);
        let sum: usize = everywhere.flat_map(|counts| counts.0).sum();
        assert_eq!(sum, self.log.receivers);
        assert!(self.log.slots.len() <= self.log.capacity);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    // S9, S10, S12; B175. The first positions stand right before the wrap.
    // WITNESS: log.counts, log.room, log.front, log.over
    #[test]
    fn any_schedule_does_what_a_list_of_all_messages_would(
        capacity in 1usize..5,
        before_wrap in 0u64..20,
        ops in prop::collection::vec(op(), 1..120),
    ) {
        let mut rig = Rig::new(capacity, 0u64.wrapping_sub(before_wrap));
        rig.run(Op::Subscribe(0));
        for op in ops {
            rig.run(op);
        }
        while !rig.cursors.is_empty() {
            rig.leave(0);
        }
        rig.collect();
        prop_assert!(rig.messages.iter().all(|message| message.strong_count() == 0));
    }
}

// S12; B175
// WITNESS: log.counts
#[test]
fn loss_is_counted_across_the_wrap() {
    for before_wrap in 0..300 {
        let mut log = Log::new(3, 0u64.wrapping_sub(before_wrap));
        let mut cursor = log.subscribe(Slow::Lag);
        for number in 0..258 {
            let (sent, _) = log.send(number);
            assert!(matches!(sent, Sent::Kept(_)));
        }
        assert_eq!(log.take(&mut cursor).0, Take::Lagged(255));
        for number in 255..258 {
            assert_eq!(log.take(&mut cursor).0, Take::Got(number));
        }
        assert_eq!(log.take(&mut cursor).0, Take::Empty);
    }
}
