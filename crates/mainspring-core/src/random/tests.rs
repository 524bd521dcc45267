use super::{Random, STEP, below, enter, next_u64};
use proptest::prelude::*;

/// The published test vector of SplitMix64 for the seed 1234567.
#[test]
fn stream_is_the_published_one() {
    let mut random = Random::from_seed(1_234_567);
    let drawn: Vec<_> = (0..3).map(|_| random.next_u64()).collect();
    assert_eq!(
        drawn,
        [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423
        ]
    );
}

#[test]
fn seeds_that_fold_to_zero_still_vary() {
    // The second one makes the state zero after one step.
    for seed in [0, STEP.wrapping_neg(), u64::MAX, 1 << 63] {
        let mut random = Random::from_seed(seed);
        let heads = (0..1_000).filter(|_| random.below(2) == 0).count();
        assert!((400..600).contains(&heads), "seed {seed}: {heads} of 1,000");
    }
}

proptest! {
    #[test]
    fn draws_stay_below_any_bound(seed in any::<u64>(), bound in any::<u32>()) {
        let mut random = Random::from_seed(seed);
        for _ in 0..20 {
            let drawn = random.below(bound);
            prop_assert!(drawn < bound || (bound == 0 && drawn == 0));
        }
    }
}

#[test]
fn bounded_draws_are_fair_where_the_multiplication_alone_is_not() {
    // Of 2^32 values, three quarters of the range: without rejection one third would come twice.
    let bound = 3 << 30;
    let mut random = Random::from_seed(7);
    let mut thirds = [0_u32; 3];
    for _ in 0..30_000 {
        thirds[(random.below(bound) >> 30) as usize] += 1;
    }
    assert!(
        thirds.iter().all(|count| (9_500..10_500).contains(count)),
        "{thirds:?}"
    );
}

#[test]
fn seed_is_current_until_its_guard_goes_and_nests() {
    let outer = enter(1);
    let first = next_u64();
    let inner = enter(1);
    assert_eq!(next_u64(), first);
    drop(inner);
    let second = next_u64();
    drop(outer);
    let mut expected = Random::from_seed(1);
    assert_eq!([first, second], [expected.next_u64(), expected.next_u64()]);
    assert!(below(10) < 10);
}

#[test]
fn threads_draw_streams_of_their_own() {
    let draw = || [next_u64(), next_u64()];
    let theirs = std::thread::spawn(draw).join().ok();
    assert_ne!(theirs, Some(draw()));
}

#[test]
fn fork_is_another_stream() {
    let mut random = Random::from_seed(3);
    let mut fork = random.fork();
    assert_ne!(fork.next_u64(), random.next_u64());
}
