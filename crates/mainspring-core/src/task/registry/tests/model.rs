//! The registry against a `Vec` of numbers.

use crate::task::tests::support::{Queue, scheduler};
use crate::task::{self, Registry, Runnable, TaskId};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Insert,
    /// Removes one of the tasks, listed or not.
    Remove(prop::sample::Index),
    Pop,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => Just(Step::Insert),
        2 => any::<prop::sample::Index>().prop_map(Step::Remove),
        1 => Just(Step::Pop),
    ];
    prop::collection::vec(step, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // WITNESS: task.registry
    #[test]
    fn any_steps_leave_the_registry_like_the_model(steps in steps()) {
        let queue = Queue::new();
        let scheduler = scheduler(&queue);
        let mut runnables: Vec<Runnable> = Vec::new();
        let mut registry = Registry::new();
        let mut model: Vec<TaskId> = Vec::new();
        for step in steps {
            match step {
                Step::Insert => {
                    let (runnable, join) = task::create(async {}, scheduler.clone());
                    join.detach();
                    // SAFETY: no task runs before the registry is gone, and each is inserted once.
                    unsafe { registry.insert(runnable.task()) };
                    model.insert(0, runnable.id());
                    runnables.push(runnable);
                }
                Step::Remove(_) if runnables.is_empty() => {}
                Step::Remove(index) => {
                    let task = runnables[index.index(runnables.len())].task();
                    // SAFETY: this is the only registry.
                    let was_listed = unsafe { registry.remove(task) };
                    prop_assert_eq!(was_listed, model.contains(&task.id()));
                    model.retain(|id| *id != task.id());
                }
                Step::Pop => {
                    let popped = registry.pop().map(|task| task.id());
                    let first = (!model.is_empty()).then(|| model.remove(0));
                    prop_assert_eq!(popped, first);
                }
            }
            let listed: Vec<_> = registry.iter().map(|task| task.id()).collect();
            prop_assert_eq!(&listed, &model);
            prop_assert_eq!(registry.len(), model.len());
        }
        while registry.pop().is_some() {}
    }
}
