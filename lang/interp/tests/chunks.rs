//! Tables that are read in chunks: what is asked of the host, and when.

use adl_interp::host::Host;
use adl_interp::ops::data::chunked::open;

/// One file, and what it is asked for.
#[derive(Default)]
struct OneFile {
    bytes: Vec<u8>,
    asked: Vec<String>,
}

impl Host for OneFile {
    fn read(&mut self, _path: &str) -> Result<Vec<u8>, String> {
        Ok(self.bytes.clone())
    }
    fn read_at(&mut self, _path: &str, from: u64, len: usize) -> Result<Vec<u8>, String> {
        self.asked.push(format!("read {from}"));
        let from = from as usize;
        Ok(self.bytes[from..self.bytes.len().min(from + len)].to_vec())
    }
    fn will_read(&mut self, _path: &str, from: u64, len: u64) {
        self.asked.push(format!("will read {from}, {len}"));
    }
}

#[test]
fn the_next_chunk_is_fetched_while_one_is_used() {
    let bytes = [b"x\n".as_slice(), &b"1.25\n".repeat(1 << 20)].concat();
    let mut host = OneFile { bytes, ..OneFile::default() };
    let table = open(&mut host, "t.csv").unwrap();
    assert_eq!(table.sizes, [-1, -1]);
    host.asked.clear();
    table.column(&mut host, 0, ("x", "Float")).unwrap();
    let next = (1 << 22) / 5 * 5 + 2;
    assert_eq!(host.asked, ["read 2".to_owned(), format!("will read {next}, {}", host.bytes.len() - next)]);
    host.asked.clear();
    table.column(&mut host, 1, ("x", "Float")).unwrap();
    assert_eq!(host.asked, [format!("read {next}")]);
}
