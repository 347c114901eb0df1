//! A killed rank is named on Linux only.

use crate::Global;
use adl_mpi::Launcher;
use std::ffi::OsString;

pub const SOCKET: &str = "ADL_RANK_SOCKET";

pub fn start(_: &[String]) -> Option<OsString> {
    None
}

pub fn watch(_: &[String], _: &Global) -> Option<u8> {
    None
}

pub fn begin(_: &Launcher) {}

pub fn handles_interrupts() {}

pub fn end(_: u8) {}
