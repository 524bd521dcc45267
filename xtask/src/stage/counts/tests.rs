use super::Counts;

#[test]
fn verdicts_of_several_binaries_are_counted_by_name() {
    let text = "\nrunning 3 tests\n\
        test src/a.rs - a (line 7) ... ok\n\
        test src/a.rs - a::B (line 9) - compile fail ... ok\n\
        test src/a.rs - a::C (line 12) ... ignored, slow\n\
        test result: ok. 2 passed; 0 failed; 1 ignored\n\
        running 1 test\n\
        test src/b.rs - b (line 3) ... FAILED\n\
        test torn ... noise\nok\n\
        test result: FAILED. 1 passed; 1 failed; 0 ignored\n";
    assert_eq!(
        Counts::read(text),
        Counts {
            binaries: 2,
            passed: 3,
            failed: vec!["src/b.rs - b (line 3)".to_owned()],
            ignored: vec!["src/a.rs - a::C (line 12)".to_owned()],
        }
    );
}
