//! Parts of a file.

use crate::error::{Error, Res, codes};
use crate::host::Host;
use crate::{memory, polling};

/// A file, of which parts are read.
pub(in crate::ops::data) struct Reader<'a> {
    host: &'a mut dyn Host,
    pub path: &'a str,
    /// Its bytes.
    pub length: u64,
}

impl<'a> Reader<'a> {
    pub fn new(host: &'a mut dyn Host, path: &'a str) -> Res<Reader<'a>> {
        let length = host.length(path).map_err(|e| Error::new(codes::FILE, format!("{path}: {e}")))?;
        Ok(Reader { host, path, length })
    }

    /// So many bytes from an offset, or fewer at the end of the file.
    pub fn at(&mut self, from: u64, len: usize) -> Res<Vec<u8>> {
        let left = usize::try_from(self.length.saturating_sub(from)).unwrap_or(usize::MAX);
        let len = len.min(left);
        memory::check_available(len).map_err(|s| s.error(&format!("a part of the file {}", self.path), len))?;
        let read = self.host.read_at(self.path, from, len);
        // The host also returns an error when it is told to stop.
        polling::poll()?;
        read.map_err(|e| Error::new(codes::FILE, format!("{}: {e}", self.path)))
    }
}
