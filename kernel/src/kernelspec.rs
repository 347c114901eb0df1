//! The kernelspec, from which front ends learn how to start the kernel, and its name and logo.

use serde_json::json;
use std::path::PathBuf;

/// The location of a kernelspec.
#[derive(Clone, Debug)]
pub enum SpecLocation {
    /// For the user.
    User,
    /// In the active Python environment.
    SysPrefix,
    /// Below a directory, as `PREFIX/share/jupyter`.
    Prefix(PathBuf),
}

const LOGOS: &[(&str, &[u8])] = &[
    ("logo-svg.svg", include_bytes!("../assets/logo-svg.svg")),
    ("logo-32x32.png", include_bytes!("../assets/logo-32x32.png")),
    ("logo-64x64.png", include_bytes!("../assets/logo-64x64.png")),
];

/// The directory of the kernelspec for so many ranks.
pub fn directory(place: &SpecLocation, ranks: u32) -> Result<PathBuf, String> {
    let data = match place {
        SpecLocation::User => match std::env::var_os("JUPYTER_DATA_DIR").filter(|d| !d.is_empty()) {
            Some(d) => PathBuf::from(d),
            None => jupyter_zmq_client::dirs::user_data_dir().map_err(|e| e.to_string())?,
        },
        SpecLocation::SysPrefix => sys_prefix()?.join("share/jupyter"),
        SpecLocation::Prefix(p) => p.join("share/jupyter"),
    };
    let name = if ranks > 1 { format!("adl-{ranks}-ranks") } else { "adl".to_owned() };
    Ok(data.join("kernels").join(name))
}

/// `sys.prefix` of the Python that front ends use.
fn sys_prefix() -> Result<PathBuf, String> {
    let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().find_map(std::env::var_os);
    if let Some(p) = active.filter(|p| !p.is_empty()) {
        return Ok(PathBuf::from(p));
    }
    let asked = std::process::Command::new("python3").args(["-c", "import sys; print(sys.prefix)"]).output();
    let out = asked.map_err(|e| format!("no Python environment is active, and python3 cannot be asked: {e}"))?;
    let text = String::from_utf8_lossy(&out.stdout).trim().to_owned();
    if text.is_empty() { Err("python3 does not say what its prefix is".into()) } else { Ok(PathBuf::from(text)) }
}

/// Installs the kernelspec of the adl that a command starts, on so many ranks.
pub fn install(place: &SpecLocation, command: &[String], ranks: u32) -> Result<PathBuf, String> {
    let dir = directory(place, ranks)?;
    let said = |e: std::io::Error| format!("{}: {e}", dir.display());
    std::fs::create_dir_all(&dir).map_err(said)?;
    let count = ranks.to_string();
    let flag = if ranks > 1 { &["--ranks", count.as_str()][..] } else { &[] };
    let run = ["kernel", "run", "-f", "{connection_file}"];
    let argv: Vec<&str> = command.iter().map(String::as_str).chain(flag.iter().copied()).chain(run).collect();
    let title = if ranks > 1 { format!("adl ({ranks} ranks)") } else { "adl".to_owned() };
    let spec = json!({
        "argv": argv,
        "display_name": title,
        "language": "adl",
        "interrupt_mode": "message",
        "metadata": {"debugger": true},
    });
    let text = serde_json::to_string_pretty(&spec).map_err(|e| e.to_string())?;
    adl_files::write(dir.join("kernel.json"), text + "\n").map_err(said)?;
    for (name, bytes) in LOGOS {
        adl_files::write(dir.join(name), bytes).map_err(said)?;
    }
    Ok(dir)
}

/// Removes the kernelspec for so many ranks.
pub fn uninstall(place: &SpecLocation, ranks: u32) -> Result<PathBuf, String> {
    let dir = directory(place, ranks)?;
    if !dir.join("kernel.json").is_file() {
        return Err(format!("{}: no kernelspec is installed there", dir.display()));
    }
    std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    Ok(dir)
}
