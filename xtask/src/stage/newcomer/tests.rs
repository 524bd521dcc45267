use super::first_rust_block;

#[test]
fn first_block_of_rust_is_found_among_others() {
    let readme =
        "# x\n\n```sh\ncargo add x\n```\n\n```rust,no_run\nfn main() {}\n```\n\n```rust\n2\n```\n";
    assert_eq!(first_rust_block(readme).as_deref(), Some("fn main() {}\n"));
    assert_eq!(first_rust_block("```rusty\n```"), None);
}
