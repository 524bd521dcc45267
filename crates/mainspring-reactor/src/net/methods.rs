//! The calls of a stream, which its halves offer with the same words.

/// The calls in the direction of reading, for a type with a `core()`.
macro_rules! read_methods {
    () => {
        /// Reads what is there into `buf`, once something is. Zero bytes are the end: the other
        /// side writes no more.
        ///
        /// An empty `buf` is answered with zero at once or when something is there, as the system
        /// has it.
        ///
        /// # Cancel safety
        ///
        /// *Safe*: dropped before it is ready it has read nothing.
        ///
        /// # Errors
        ///
        /// What the system says to the call.
        /// [`ReactorError::Gone`](crate::ReactorError::Gone) instead of waiting, if no reactor
        /// is left that would serve the socket.
        pub fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> Read<'a> {
            self.core().read(buf)
        }

        /// Lends what is there, once something is: up to 4 KiB in memory of the runtime's, which
        /// goes back when it is dropped. An empty one is the end: the other side writes no more.
        ///
        /// For who passes the bytes on: nothing is copied, and a connection that waits holds no
        /// memory.
        ///
        /// # Cancel safety
        ///
        /// *Safe*: dropped before it is ready it has read nothing.
        ///
        /// # Errors
        ///
        /// As [`read`](Self::read).
        pub fn recv_pooled(&mut self) -> RecvPooled<'_> {
            self.core().recv_pooled()
        }

        /// Reads into the room behind what `buf` holds, once something is there, and gives `buf`
        /// back with the count. Zero bytes are the end; or `buf` had no room.
        ///
        /// On the ring the system writes into `buf` itself: for bytes in bulk. Nothing is
        /// allocated.
        ///
        /// # Cancel safety
        ///
        /// *Safe* for the bytes: dropped before it is ready it gives `buf` up, and what arrives in
        /// it is there for the next read. Forgotten instead of dropped (`mem::forget`), after a
        /// poll, it loses on the ring what has arrived in `buf`, or does: that is forgotten, too.
        ///
        /// # Errors
        ///
        /// As [`read`](Self::read); `buf` comes back all the same.
        pub fn read_owned<B: IoBufMut>(&mut self, buf: B) -> ReadOwned<'_, B> {
            ReadOwned::new(self.core(), buf)
        }

        /// Fills `buf`.
        ///
        /// # Cancel safety
        ///
        /// *Loses value*: what was read before the drop is in `buf`, and nobody knows how much.
        /// Keep the future across iterations, or keep count yourself with [`read`](Self::read).
        ///
        /// # Errors
        ///
        /// [`UnexpectedEof`](std::io::ErrorKind::UnexpectedEof) if the other side ends before; else
        /// as [`read`](Self::read). `buf` then holds what was read before.
        pub async fn read_exact(&mut self, buf: &mut [u8]) -> io::Result<()> {
            self.core().read_exact(buf).await
        }

        /// Looks at what is there, once something is, and leaves it there.
        ///
        /// # Cancel safety
        ///
        /// *Safe*: it takes nothing.
        ///
        /// # Errors
        ///
        /// As [`read`](Self::read).
        pub fn peek<'a>(&'a mut self, buf: &'a mut [u8]) -> Peek<'a> {
            self.core().peek(buf)
        }

        /// Reads what is there now.
        ///
        /// # Errors
        ///
        /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if nothing is, as far as the reactor has
        /// said; else as [`read`](Self::read).
        pub fn try_read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            self.core().try_read(buf)
        }

        /// Waits until a [`try_read`](Self::try_read) may get somewhere: bytes, the end, or an
        /// error. It may still say `WouldBlock`; then wait again.
        ///
        /// # Cancel safety
        ///
        /// *Safe*: it takes nothing.
        ///
        /// # Errors
        ///
        /// [`ReactorError::Gone`](crate::ReactorError::Gone) if no reactor is left that would
        /// serve the socket.
        pub fn readable(&mut self) -> Ready<'_> {
            self.core().readable()
        }
    };
}

/// The calls in the direction of writing, for a type with a `core()`.
macro_rules! write_methods {
    () => {
        /// Writes what the system has room for, once there is some, and says how much that was: the
        /// system has those bytes.
        ///
        /// # Cancel safety
        ///
        /// *Safe*: dropped before it is ready it has written nothing.
        ///
        /// # Errors
        ///
        /// What the system says to the call.
        /// [`ReactorError::Gone`](crate::ReactorError::Gone) instead of waiting, if no reactor
        /// is left that would serve the socket.
        pub fn write<'a>(&'a mut self, buf: &'a [u8]) -> Write<'a> {
            self.core().write(buf)
        }

        /// As [`write`](Self::write), out of several slices in one system call.
        ///
        /// # Cancel safety
        ///
        /// *Safe*: dropped before it is ready it has written nothing.
        ///
        /// # Errors
        ///
        /// As [`write`](Self::write).
        pub fn write_vectored<'a>(&'a mut self, bufs: &'a [IoSlice<'a>]) -> WriteVectored<'a> {
            self.core().write_vectored(bufs)
        }

        /// Writes all of `buf`.
        ///
        /// # Cancel safety
        ///
        /// *Loses place*: some of `buf` may have been written before the drop, and nobody knows how
        /// much. Keep the future across iterations, or keep count yourself with
        /// [`write`](Self::write).
        ///
        /// # Errors
        ///
        /// As [`write`](Self::write); how much was written before is not known.
        pub async fn write_all(&mut self, buf: &[u8]) -> io::Result<()> {
            self.core().write_all(buf).await
        }

        /// Writes all of `buf`, and gives it back with the count, which is all of it but after an
        /// error in the middle: that is the next call's.
        ///
        /// On the ring nothing is copied but by the system itself, and the call goes to the kernel
        /// together with everything else of a turn.
        ///
        /// # Cancel safety
        ///
        /// *Not restartable*: from its first poll on it is on its way, behind earlier ones that
        /// were dropped, and dropping it changes nothing of that. All of `buf` is sent, before
        /// anything that is written later; where readiness serves, together with the next write,
        /// flush or shutdown. An error comes with the next call in this direction.
        ///
        /// # Errors
        ///
        /// As [`write`](Self::write); `buf` comes back all the same.
        pub fn write_owned<B: IoBuf>(&mut self, buf: B) -> WriteOwned<'_, B> {
            WriteOwned::new(self.core(), buf)
        }

        /// Waits until everything that was handed over by
        /// [`write_owned`](Self::write_owned) is with the system. What
        /// [`write`](Self::write) took is there already.
        ///
        /// # Cancel safety
        ///
        /// *Safe*: it writes nothing of its own.
        ///
        /// # Errors
        ///
        /// Those of a [`write_owned`](Self::write_owned) whose future was dropped.
        pub fn flush(&mut self) -> Flush<'_> {
            self.core().flush()
        }

        /// Ends the direction of writing: when the other side has read what was written, it reads
        /// the end. Reading goes on. On a connection that is over it does nothing.
        ///
        /// # Cancel safety
        ///
        /// *Safe*: dropped before it is ready it has done nothing.
        ///
        /// # Errors
        ///
        /// What the system says to the call.
        pub fn shutdown(&mut self) -> Shutdown<'_> {
            self.core().shutdown()
        }

        /// Writes what there is room for now.
        ///
        /// # Errors
        ///
        /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if there is none, as far as the reactor
        /// has said; else as [`write`](Self::write).
        pub fn try_write(&mut self, buf: &[u8]) -> io::Result<usize> {
            self.core().try_write(buf)
        }

        /// Waits until a [`try_write`](Self::try_write) may get somewhere: there is room, or an
        /// error. It may still say `WouldBlock`; then wait again.
        ///
        /// # Cancel safety
        ///
        /// *Safe*: it writes nothing.
        ///
        /// # Errors
        ///
        /// [`ReactorError::Gone`](crate::ReactorError::Gone) if no reactor is left that would
        /// serve the socket.
        pub fn writable(&mut self) -> Ready<'_> {
            self.core().writable()
        }
    };
}

/// The addresses of a connection, for a type with a `core()`.
macro_rules! addr_methods {
    () => {
        /// The other side's address.
        ///
        /// # Errors
        ///
        /// What the system says: the connection is over.
        pub fn peer_addr(&self) -> io::Result<SocketAddr> {
            super::addr::inet(self.core().socket().peer_addr())
        }

        /// This side's address.
        ///
        /// # Errors
        ///
        /// What the system says.
        pub fn local_addr(&self) -> io::Result<SocketAddr> {
            super::addr::inet(self.core().socket().local_addr())
        }

        /// Which backend serves it.
        #[doc(hidden)]
        pub fn backend(&self) -> Backend {
            self.core().backend()
        }
    };
}
