//! mainspring, by layer: each file beside `ours/` is one implementation of
//! [`OneThread`](crate::runtime::OneThread) or one server, listed in
//! [`rows::implementations`](crate::rows) like a peer.
