//! Random programs of tasks that sleep, wait with limits and send to each other, against an oracle
//! that runs one event after the other. What each task sees at which moment has to be the same: had
//! the clock moved while a message was under way, a limit would have passed that does not.
//!
//! `MAINSPRING_SEED=N` draws the same programs.

use super::{armed, paused};
use mainspring::sync::channel::{self, Receiver, Sender};
use mainspring::time::{Sleep, now, sleep, timeout};
use mainspring::{spawn, spawn_blocking, spawn_pinned, yield_now};
use mainspring_core::random::Random;
use mainspring_core::time::Nanos;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Duration;

/// One step of a task. Delays are in nanoseconds.
#[derive(Clone, Debug)]
enum Step {
    Sleep(u64),
    /// Arms a sleep, goes elsewhere, and resets it: how long it is from the first moment on.
    Reset(u64, u64),
    Send(usize),
    /// Waits for a message of a task, so long at most.
    Receive(usize, u64),
    /// What takes no virtual time.
    Yield,
    Block,
    /// A task on that worker, which ends at once.
    Visit(usize),
}

type Program = Vec<Vec<Step>>;

/// The moments at which the steps of a task had ended, and what each receive brought.
type Diary = Vec<(u64, Option<bool>)>;

/// Delays are long and drawn from a wide range: two different events at one moment, between which
/// there would be no order, do not happen.
fn delay(random: &mut Random) -> u64 {
    let magnitude = 1 << (10 + random.below(32));
    magnitude + random.next_u64() % magnitude
}

fn program(random: &mut Random) -> Program {
    let tasks = 2 + random.below(10) as usize;
    let step = |random: &mut Random| {
        let other = random.below(tasks as u32) as usize;
        match random.below(16) {
            0..4 => Step::Sleep(delay(random)),
            4 => Step::Reset(delay(random), delay(random)),
            5..9 => Step::Send(other),
            9..13 => Step::Receive(other, delay(random)),
            13 => Step::Yield,
            14 => Step::Block,
            _ => Step::Visit(random.below(4) as usize),
        }
    };
    let mut task = || (0..1 + random.below(12)).map(|_| step(random)).collect();
    (0..tasks).map(|_| task()).collect()
}

/// What a task of the oracle's waits for.
#[derive(Clone, Copy)]
enum Wait {
    Begin,
    Moment,
    Letter(usize),
}

/// A task in the oracle's world.
struct Actor {
    next: usize,
    wait: Wait,
    /// Numbers its waits: an event for an earlier one is stale.
    waits: u64,
    diary: Diary,
}

struct Oracle<'p> {
    program: &'p Program,
    actors: Vec<Actor>,
    /// How many letters lie there, by sender and receiver.
    letters: HashMap<(usize, usize), usize>,
    /// The moment, a number for the order, the task, and which of its waits ends.
    events: BinaryHeap<Reverse<(u64, u64, usize, u64)>>,
    number: u64,
}

impl<'p> Oracle<'p> {
    /// What the program has to come to, event after event.
    fn ask(program: &'p Program) -> Vec<Diary> {
        let begin = |_: &Vec<Step>| Actor {
            next: 0,
            wait: Wait::Begin,
            waits: 0,
            diary: Vec::new(),
        };
        let mut this = Self {
            program,
            actors: program.iter().map(begin).collect(),
            letters: HashMap::new(),
            events: BinaryHeap::new(),
            number: 0,
        };
        (0..program.len()).for_each(|task| this.at(0, task));
        while let Some(Reverse((moment, _, task, wait))) = this.events.pop() {
            if this.actors[task].waits == wait {
                this.resume(task, moment);
            }
        }
        this.actors.into_iter().map(|actor| actor.diary).collect()
    }

    /// The task's present wait ends at `moment`, unless it has ended by then.
    fn at(&mut self, moment: u64, task: usize) {
        self.number += 1;
        let wait = self.actors[task].waits;
        self.events.push(Reverse((moment, self.number, task, wait)));
    }

    fn take_letter(&mut self, from: usize, to: usize) -> bool {
        let letters = self.letters.entry((from, to)).or_default();
        let came = *letters > 0;
        *letters -= usize::from(came);
        came
    }

    fn note(&mut self, task: usize, moment: u64, received: Option<bool>) {
        let actor = &mut self.actors[task];
        actor.diary.push((moment, received));
        actor.next += 1;
    }

    fn resume(&mut self, task: usize, now: u64) {
        self.actors[task].waits += 1;
        match std::mem::replace(&mut self.actors[task].wait, Wait::Begin) {
            Wait::Begin => {}
            Wait::Moment => self.note(task, now, None),
            Wait::Letter(from) => {
                let came = self.take_letter(from, task);
                self.note(task, now, Some(came));
            }
        }
        while let Some(step) = self.program[task].get(self.actors[task].next) {
            match *step {
                Step::Sleep(delay) | Step::Reset(_, delay) => {
                    self.actors[task].wait = Wait::Moment;
                    return self.at(now + delay, task);
                }
                Step::Receive(from, limit) => {
                    if !self.take_letter(from, task) {
                        self.actors[task].wait = Wait::Letter(from);
                        return self.at(now + limit, task);
                    }
                    self.note(task, now, Some(true));
                }
                Step::Send(to) => {
                    *self.letters.entry((task, to)).or_default() += 1;
                    if matches!(self.actors[to].wait, Wait::Letter(from) if from == task) {
                        self.at(now, to);
                    }
                    self.note(task, now, None);
                }
                Step::Yield | Step::Block | Step::Visit(_) => self.note(task, now, None),
            }
        }
    }
}

/// A task of the real program.
struct Player {
    start: Nanos,
    to: Vec<Sender<()>>,
    from: Vec<Receiver<()>>,
}

impl Player {
    /// Its ends of the channels come back, so that nobody hears of a closed one.
    async fn play(self, steps: Vec<Step>) -> (Diary, Self) {
        let mut diary = Vec::new();
        for step in steps {
            let mut received = None;
            match step {
                Step::Sleep(delay) => sleep(Duration::from_nanos(delay)).await,
                Step::Reset(first, then) => {
                    let began = now();
                    let later = |delay| began.saturating_add(Duration::from_nanos(delay));
                    let mut nap = armed(Sleep::until(later(first))).await;
                    yield_now().await;
                    nap.as_mut().reset_nanos(later(then));
                    nap.await;
                }
                Step::Send(to) => self.to[to].try_send(()).expect("room, and a receiver"),
                Step::Receive(from, limit) => {
                    let letter = self.from[from].recv();
                    let letter = timeout(Duration::from_nanos(limit), letter).await;
                    received = Some(letter.is_ok());
                }
                Step::Yield => yield_now().await,
                Step::Block => spawn_blocking(|| ()).await.expect("no panic"),
                Step::Visit(worker) => spawn_pinned(worker, || async {}).await.expect("no panic"),
            }
            diary.push((now().since(self.start).as_nanos() as u64, received));
        }
        (diary, self)
    }
}

async fn run(program: &Program) -> Vec<Diary> {
    let start = now();
    let player = |_: &Vec<Step>| Player {
        start,
        to: Vec::new(),
        from: Vec::new(),
    };
    let mut players: Vec<_> = program.iter().map(player).collect();
    for from in 0..players.len() {
        for to in 0..players.len() {
            let (sender, receiver) = channel::unbounded();
            players[from].to.push(sender);
            players[to].from.push(receiver);
        }
    }
    let tasks: Vec<_> = players
        .into_iter()
        .zip(program)
        .map(|(player, steps)| spawn(player.play(steps.clone())))
        .collect();
    let mut ended = Vec::new();
    for task in tasks {
        ended.push(task.await.expect("no panic"));
    }
    ended.into_iter().map(|(diary, _)| diary).collect()
}

#[test]
fn random_programs_come_to_what_one_event_after_the_other_comes_to() {
    mainspring_testkit::seeded(|random| {
        let programs: Vec<_> = (0..40).map(|_| program(random)).collect();
        paused(|| async {
            for program in &programs {
                assert_eq!(run(program).await, Oracle::ask(program), "{program:#?}");
            }
        });
    });
}
