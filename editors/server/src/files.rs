//! Paths and addresses of files, and the session's view of them: buffers that are open hide the files on disk.

use adl_interp::host::Host;
use lsp_types::Uri;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::str::FromStr;

/// Open buffers by path.
pub type Buffers = Rc<RefCell<HashMap<PathBuf, String>>>;

/// The files of a workspace.
pub struct Files {
    /// The directory that relative paths are relative to.
    pub root: PathBuf,
    /// The open buffers.
    pub buffers: Buffers,
}

impl Host for Files {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        let path = self.root.join(path);
        let open = self.buffers.borrow().get(&path).cloned();
        match open {
            Some(text) => Ok(text.into_bytes()),
            None => std::fs::read(&path).map_err(|e| reason(&e)),
        }
    }

    fn read_at(&mut self, path: &str, from: u64, len: usize) -> Result<Vec<u8>, String> {
        adl_files::read_part(self.root.join(path), from, len).map_err(|e| reason(&e))
    }

    fn length(&mut self, path: &str) -> Result<u64, String> {
        adl_files::length(self.root.join(path)).map_err(|e| reason(&e))
    }

    fn list(&mut self, path: &str) -> Option<Vec<String>> {
        adl_files::list(self.root.join(path))
    }

    fn identity(&mut self, path: &str) -> Option<String> {
        Some(plain(&self.root.join(path)).to_string_lossy().into_owned())
    }
}

/// The reason in the words of the command line.
fn reason(e: &std::io::Error) -> String {
    match e.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => e.to_string(),
    }
}

/// A path without `.` and `..`.
pub fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => drop(out.pop()),
            other => out.push(other),
        }
    }
    out
}

/// The path of a `file:` address.
pub fn path_of(uri: &Uri) -> Option<PathBuf> {
    let rest = uri.as_str().strip_prefix("file://")?;
    let path = &rest[rest.find('/')?..];
    let path = decoded(path);
    // `/c:/dir` on Windows.
    let drive = path.as_bytes().get(2) == Some(&b':');
    Some(plain(Path::new(if drive { &path[1..] } else { &path })))
}

fn decoded(text: &str) -> String {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        let code = || {
            let mut ahead = bytes.clone();
            let hex = [ahead.next()?, ahead.next()?];
            u8::from_str_radix(std::str::from_utf8(&hex).ok()?, 16).ok()
        };
        match (b, code()) {
            (b'%', Some(code)) => {
                out.push(code);
                bytes.nth(1);
            }
            _ => out.push(b),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The `file:` address of a path.
pub fn uri_of(path: &Path) -> Option<Uri> {
    let mut out = "file://".to_owned();
    let text = path.to_string_lossy().replace('\\', "/");
    if !text.starts_with('/') {
        out.push('/');
    }
    for b in text.bytes() {
        let plain = b.is_ascii_alphanumeric() || b"/-._~".contains(&b);
        out += &if plain { char::from(b).to_string() } else { format!("%{b:02X}") };
    }
    Uri::from_str(&out).ok()
}

/// All `.adl` files below a directory. Hidden directories and those of builds are left out.
pub fn sources(root: &Path) -> Vec<PathBuf> {
    /// More files than this are not searched.
    const MANY: usize = 10_000;
    let (mut todo, mut out) = (vec![root.to_owned()], Vec::new());
    while let Some(dir) = todo.pop() {
        let Ok(entries) = std::fs::read_dir(&dir) else { continue };
        for e in entries.flatten() {
            let (path, name) = (e.path(), e.file_name());
            let hidden = name.to_string_lossy().starts_with('.');
            // Links are not followed: they may form cycles.
            let dir = e.file_type().is_ok_and(|t| t.is_dir());
            if dir && !hidden && name != "target" && name != "node_modules" {
                todo.push(path);
            } else if path.extension().is_some_and(|x| x == "adl") {
                out.push(path);
            }
        }
        if out.len() > MANY {
            break;
        }
    }
    out.sort_unstable();
    out
}
