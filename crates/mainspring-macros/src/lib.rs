//! The attribute macros of the mainspring runtime.
//!
//! Take them from the `mainspring` crate, which re-exports and documents them: what they expand to
//! names it.
//!
//! # How it is built
//!
//! | file | what it does |
//! |---|---|
//! | `token` | token trees as plain data, with any type of span: what the parsers read |
//! | `item` | finds the parts of an `async fn` |
//! | `options` | reads what stands between the parentheses of the attribute |
//! | `expand` | puts the function together again |
//!
//! The two parsers do not know the compiler's types, which exist only while a macro runs, so that
//! their messages and the places of those are unit-tested. No parser of all of Rust is needed, and
//! so none is built: the crate has no dependencies.

mod expand;
mod item;
mod options;
mod token;

use self::expand::expand;
use self::options::Attribute;
use proc_macro::TokenStream;

/// Runs an `async fn main` on a runtime. Documented where it is re-exported, in `mainspring`.
#[proc_macro_attribute]
pub fn main(options: TokenStream, item: TokenStream) -> TokenStream {
    expand(Attribute::Main, options, item)
}

/// Makes a test of an `async fn`. Documented where it is re-exported, in `mainspring`.
#[proc_macro_attribute]
pub fn test(options: TokenStream, item: TokenStream) -> TokenStream {
    expand(Attribute::Test, options, item)
}
