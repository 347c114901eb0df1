#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]
use super::*;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

fn names(dir: &Path) -> Vec<String> {
    let mut out: Vec<String> =
        fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    out.sort();
    out
}

/// Writes half of a piece, then reports a full disk.
fn full(out: &mut dyn Write, piece: &[u8]) -> Result<()> {
    out.write_all(&piece[..piece.len() / 2])?;
    Err(ErrorKind::StorageFull.into())
}

#[test]
fn a_failed_write_leaves_the_old_file_and_no_other() {
    let d = tempfile::tempdir().unwrap();
    let file = d.path().join("a");
    assert_eq!(write_by(&file, b"new", &full).unwrap_err().kind(), ErrorKind::StorageFull);
    assert!(names(d.path()).is_empty());
    write(&file, "old").unwrap();
    assert_eq!(write_by(&file, b"new", &full).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(write_unless(&file, b"new", &|| true).unwrap_err().kind(), ErrorKind::Interrupted);
    assert_eq!((fs::read(&file).unwrap(), names(d.path())), (b"old".to_vec(), vec!["a".to_owned()]));
}

#[test]
fn mode_and_symbolic_links_stay() {
    let d = tempfile::tempdir().unwrap();
    let at = |name: &str| d.path().join(name);
    fs::create_dir(at("sub")).unwrap();
    for mode in [0o600, 0o640, 0o755, 0o4711] {
        write(at("sub/a"), "old").unwrap();
        fs::set_permissions(at("sub/a"), Permissions::from_mode(mode)).unwrap();
        let _ = fs::remove_file(at("link"));
        let _ = fs::remove_file(at("hop"));
        symlink("sub/a", at("hop")).unwrap();
        symlink("hop", at("link")).unwrap();
        let inode = fs::metadata(at("sub/a")).unwrap().ino();
        write(at("link"), "new").unwrap();
        let data = fs::metadata(at("sub/a")).unwrap();
        assert_eq!((data.mode() & 0o7777, fs::read(at("sub/a")).unwrap()), (mode, b"new".to_vec()));
        assert!(data.ino() != inode && fs::symlink_metadata(at("link")).unwrap().is_symlink());
        assert_eq!(names(&at("sub")), ["a"]);
    }
    // Writing through a dangling link creates its target; a cycle of links is an error.
    symlink("sub/b", at("to_nothing")).unwrap();
    write(at("to_nothing"), "b").unwrap();
    assert_eq!(fs::read(at("sub/b")).unwrap(), b"b");
    symlink("round", at("round")).unwrap();
    assert!(write(at("round"), "x").is_err());
    assert_eq!(write(at("no/such"), "x").unwrap_err().kind(), ErrorKind::NotFound);
    assert!(write(at("sub"), "x").is_err());
}

#[test]
fn a_new_file_has_the_mode_of_any_new_file() {
    let d = tempfile::tempdir().unwrap();
    fs::write(d.path().join("plain"), "").unwrap();
    write(d.path().join("a"), "").unwrap();
    let mode = |name: &str| fs::metadata(d.path().join(name)).unwrap().mode();
    assert_eq!(mode("a"), mode("plain"));
}

#[test]
fn further_hard_links_see_the_new_contents() {
    let d = tempfile::tempdir().unwrap();
    let (a, b) = (d.path().join("a"), d.path().join("b"));
    write(&a, "a long old text").unwrap();
    fs::hard_link(&a, &b).unwrap();
    for text in ["short", "one that is longer than the old one"] {
        write(&a, text).unwrap();
        assert_eq!(fs::read(&b).unwrap(), text.as_bytes());
    }
    let e = write_by(&a, b"new", &full).unwrap_err().to_string();
    assert!(e.contains("written in place, and is not whole"), "{e}");
}

#[test]
fn a_file_that_may_not_be_written_is_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a");
    write(&file, "old").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o444)).unwrap();
    // The superuser may write to every file.
    if OpenOptions::new().write(true).open(&file).is_err() {
        assert_eq!(write(&file, "new").unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert_eq!(fs::read(&file).unwrap(), b"old");
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o555)).unwrap();
        write(&file, "new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn pipes_are_written_directly() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("p");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read(pipe).unwrap()
    });
    write(&pipe, "through").unwrap();
    assert_eq!(reader.join().unwrap(), b"through");
    write("/dev/null", "nothing").unwrap();
    assert_eq!(write("/dev/full", "nothing").unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(names(dir.path()), ["p"]);
}
