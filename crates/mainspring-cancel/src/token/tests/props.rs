//! Any order of calls on a tree, against a model that recomputes everything.

use crate::{CancelToken, Hold, Phase, Reason};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Child(usize),
    Cancel(usize),
    Drop(usize),
    Hold(usize),
    Release(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let at = 0..64_usize;
    prop_oneof![
        4 => at.clone().prop_map(Step::Child),
        1 => at.clone().prop_map(Step::Cancel),
        2 => at.clone().prop_map(Step::Drop),
        2 => at.clone().prop_map(Step::Hold),
        2 => at.prop_map(Step::Release),
    ]
}

/// What the page says of one token, with nothing of how it is done.
struct Known {
    token: Option<CancelToken>,
    parent: Option<usize>,
    is_cancelled: bool,
    /// It was CANCELLED once, and stays so.
    is_over: bool,
    holds: Vec<Hold>,
}

impl Known {
    fn has_handles(&self) -> bool {
        self.token.is_some() || !self.holds.is_empty()
    }
}

struct Model(Vec<Known>);

impl Model {
    fn is_below(&self, mut at: usize, above: usize) -> bool {
        loop {
            if at == above {
                return true;
            }
            match self.0[at].parent {
                Some(parent) => at = parent,
                None => return false,
            }
        }
    }

    fn cancel(&mut self, above: usize) {
        let below: Vec<_> = (0..self.0.len())
            .filter(|&at| self.is_below(at, above))
            .collect();
        for at in below {
            self.0[at].is_cancelled = true;
        }
    }

    /// Nothing is held, and nothing below is left.
    fn settle(&mut self) {
        for at in (0..self.0.len()).rev() {
            let below = |&other: &usize| {
                other != at && self.is_below(other, at) && !self.0[other].holds.is_empty()
            };
            let has_held = (0..self.0.len()).any(|other| below(&other));
            let known = &mut self.0[at];
            known.is_over |= known.is_cancelled && known.holds.is_empty() && !has_held;
        }
    }

    fn phase(&self, at: usize) -> Phase {
        match &self.0[at] {
            known if known.is_over => Phase::Cancelled,
            known if known.is_cancelled => Phase::Cancelling,
            _ => Phase::Alive,
        }
    }
}

proptest! {
    // WITNESS: node.settled, node.adopted, node.phase
    #[test]
    fn any_tree_is_in_the_phases_of_the_model(steps in prop::collection::vec(step(), 1..80)) {
        let root = Known {
            token: Some(CancelToken::new()),
            parent: None,
            is_cancelled: false,
            is_over: false,
            holds: Vec::new(),
        };
        let mut model = Model(vec![root]);
        for step in steps {
            let len = model.0.len();
            match step {
                Step::Child(at) => {
                    let at = at % len;
                    let Some(token) = model.0[at].token.as_ref().map(CancelToken::child) else {
                        continue;
                    };
                    let is_cancelled = model.0[at].is_cancelled;
                    model.0.push(Known {
                        token: Some(token),
                        // One that is made too late is in no tree.
                        parent: (!is_cancelled).then_some(at),
                        is_cancelled,
                        is_over: is_cancelled,
                        holds: Vec::new(),
                    });
                }
                Step::Cancel(at) => {
                    let at = at % len;
                    if let Some(token) = &model.0[at].token {
                        let is_first = token.cancel(Reason::requested());
                        prop_assert_eq!(is_first, !model.0[at].is_cancelled);
                        model.cancel(at);
                    }
                }
                Step::Drop(at) => drop(model.0[at % len].token.take()),
                Step::Hold(at) => {
                    let at = at % len;
                    let is_over = model.phase(at) == Phase::Cancelled;
                    let hold = model.0[at].token.as_ref().map(CancelToken::hold);
                    if let Some(hold) = hold {
                        prop_assert_eq!(hold.is_err(), is_over);
                        model.0[at].holds.extend(hold.ok());
                    }
                }
                Step::Release(at) => drop(model.0[at % len].holds.pop()),
            }
            model.settle();
            for (at, known) in model.0.iter().enumerate().filter(|(_, known)| known.has_handles()) {
                if let Some(token) = &known.token {
                    prop_assert_eq!(token.phase(), model.phase(at), "token {}", at);
                    prop_assert_eq!(token.is_cancelled(), known.is_cancelled);
                }
            }
        }
    }
}
