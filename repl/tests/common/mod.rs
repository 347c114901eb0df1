//! Runs the built binary in a temporary directory.

#![allow(dead_code, reason = "each test program uses some of it")]

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The result of a run.
pub struct RunOutput {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// A directory that is removed at the end of the test.
pub struct Dir(PathBuf);

impl Dir {
    pub fn new(name: &str) -> Dir {
        let dir = std::env::temp_dir().join(format!("adl-test-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        Dir(dir)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file and creates its parent directories.
    pub fn file(&self, name: &str, text: impl AsRef<[u8]>) -> &Dir {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut c = Command::new(env!("CARGO_BIN_EXE_adl"));
        c.args(args).current_dir(&self.0).env_remove("NO_COLOR").env("ADL_HISTORY", "");
        c.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        c
    }

    pub fn adl(&self, args: &[&str]) -> RunOutput {
        finish(self.command(args))
    }

    pub fn piped(&self, args: &[&str], input: &str) -> RunOutput {
        let mut c = self.command(args);
        let mut child = c.stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let text = input.to_owned();
        // A process that ends early does not read all input.
        let writer = std::thread::spawn(move || {
            let _ = stdin.write_all(text.as_bytes());
        });
        let o = child.wait_with_output().unwrap();
        writer.join().unwrap();
        RunOutput { code: o.status.code().unwrap_or(-1), out: text_of(&o.stdout), err: text_of(&o.stderr) }
    }

    /// A REPL on a pipe; output and messages in the order in which they are written.
    pub fn piped_together(&self, input: &str) -> String {
        use std::os::fd::OwnedFd;
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut c = self.command(&[]);
        c.stdin(Stdio::piped()).stdout(OwnedFd::from(writer.try_clone().unwrap())).stderr(OwnedFd::from(writer));
        let mut child = c.spawn().unwrap();
        drop(c);
        let mut stdin = child.stdin.take().unwrap();
        let text = input.to_owned();
        let typing = std::thread::spawn(move || {
            let _ = stdin.write_all(text.as_bytes());
        });
        let mut out = String::new();
        reader.read_to_string(&mut out).unwrap();
        typing.join().unwrap();
        child.wait().unwrap();
        out
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn text_of(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

pub fn finish(mut c: Command) -> RunOutput {
    let o = c.output().unwrap();
    RunOutput { code: o.status.code().unwrap_or(-1), out: text_of(&o.stdout), err: text_of(&o.stderr) }
}

impl RunOutput {
    /// Checks the exit code, standard output, and a part of standard error (an empty part: no output at all).
    #[track_caller]
    pub fn is(&self, code: i32, out: &str, err: &str) -> &RunOutput {
        assert_eq!((self.code, self.out.as_str()), (code, out), "stderr: {}", self.err);
        match err {
            "" => assert_eq!(self.err, ""),
            e => assert!(self.err.contains(e), "{e:?} is not in {}", self.err),
        }
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self
    }
}
