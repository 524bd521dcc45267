//! Names and addresses.

use crate::error::while_doing;
use mainspring_core::blocking::{self, Blocking, BlockingError};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

/// Looks up the addresses of `host`, which names a port too: `"localhost:80"`.
///
/// The system's own look-up, on the blocking pool, in the class of jobs that no shutdown waits for.
/// An address that is written out is understood without it.
///
/// # Cancel safety
///
/// *Loses value*: a look-up that is under way runs to its end and its result is discarded. It may
/// be started again.
///
/// # Errors
///
/// What the system says, with the name that was looked up.
///
/// ```
/// # async fn example() -> std::io::Result<()> {
/// for address in mainspring_reactor::net::lookup_host("localhost:80").await? {
///     println!("{address}");
/// }
/// # Ok(())
/// # }
/// ```
pub async fn lookup_host(host: impl ToAddrs) -> io::Result<Vec<SocketAddr>> {
    match host.plan() {
        Plan::Known(addresses) => Ok(addresses),
        Plan::Ask(host) => ask(host).await,
    }
}

async fn ask(host: String) -> io::Result<Vec<SocketAddr>> {
    let question = host.clone();
    let job = blocking::run(Blocking::Abandonable, move || {
        question.to_socket_addrs().map(Vec::from_iter)
    });
    let answer = match job.await {
        Ok(answer) => answer,
        Err(BlockingError::NoThread(error)) => Err(error),
        Err(error) => Err(io::Error::other(error.to_string())),
    };
    answer.map_err(|error| while_doing(format_args!("look up {host:?}"), error))
}

/// What can be connected to: an address, several, or a name with a port.
///
/// Implemented for [`SocketAddr`], slices of it, pairs of an IP address or a name with a port, and
/// strings of the form `"name:port"`. Sealed: what a name means is the system's affair.
pub trait ToAddrs: sealed::Sealed {
    #[doc(hidden)]
    fn plan(self) -> Plan;
}

/// How to come by the addresses.
#[doc(hidden)]
#[derive(Debug)]
#[allow(unnameable_types, reason = "what a sealed trait's method returns")]
pub enum Plan {
    /// They are known.
    Known(Vec<SocketAddr>),
    /// The system has to be asked for this name and port.
    Ask(String),
}

impl Plan {
    fn of_text(text: &str) -> Self {
        match text.parse() {
            Ok(address) => Self::Known(vec![address]),
            Err(_) => Self::Ask(text.to_owned()),
        }
    }
}

macro_rules! to_addrs {
    ($($t:ty, $this:ident => $plan:expr;)*) => {
        mod sealed {
            use super::*;
            #[allow(unnameable_types, reason = "the point of sealing")]
            pub trait Sealed {}
            $(impl Sealed for $t {})*
        }
        $(impl ToAddrs for $t {
            fn plan(self) -> Plan {
                let $this = self;
                $plan
            }
        })*
    };
}

to_addrs! {
    SocketAddr, this => Plan::Known(vec![this]);
    &SocketAddr, this => Plan::Known(vec![*this]);
    &[SocketAddr], this => Plan::Known(this.to_vec());
    Vec<SocketAddr>, this => Plan::Known(this);
    (IpAddr, u16), this => Plan::Known(vec![this.into()]);
    (Ipv4Addr, u16), this => Plan::Known(vec![this.into()]);
    (Ipv6Addr, u16), this => Plan::Known(vec![this.into()]);
    (&str, u16), this => match this.0.parse::<IpAddr>() {
        Ok(ip) => Plan::Known(vec![(ip, this.1).into()]),
        Err(_) => Plan::Ask(format!("{}:{}", this.0, this.1)),
    };
    &str, this => Plan::of_text(this);
    &String, this => Plan::of_text(this);
    String, this => Plan::of_text(&this);
}

/// An address of a TCP socket.
pub(super) fn inet(address: io::Result<socket2::SockAddr>) -> io::Result<SocketAddr> {
    address?
        .as_socket()
        .ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
}
