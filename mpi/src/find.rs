//! Which launcher has started this process, and which libraries may be its MPI.

use std::path::PathBuf;

/// What the environment says of the launcher.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Launcher {
    /// The variable that gave it away.
    pub variable: &'static str,
    /// The number of this process, from 0.
    pub rank: Option<usize>,
    /// The number of ranks, if the launcher says it.
    pub size: Option<usize>,
}

/// Variables that launchers set: the rank, and the number of ranks.
const VARIABLES: [(&str, &str); 4] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("PMIX_RANK", "PMIX_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
];

/// The libraries that are tried by name, in order: the standard ABI, MPICH's (in Debian under another name), Open MPI's.
const NAMES: [&str; 4] = ["libmpi_abi.so.1", "libmpi.so.12", "libmpich.so.12", "libmpi.so.40"];

/// The launcher of this process, if there is one.
pub fn launcher() -> Option<Launcher> {
    launcher_in(&|name| std::env::var(name).ok())
}

/// The launcher that the variables of an environment tell of.
pub fn launcher_in(env: &dyn Fn(&str) -> Option<String>) -> Option<Launcher> {
    // A shell inside of a Slurm job has a rank too, but it is not a step of several tasks.
    let started = |rank: &str| env(rank).is_some() && (rank != "SLURM_PROCID" || env("SLURM_STEP_ID").is_some());
    let (variable, size) = VARIABLES.into_iter().find(|(rank, _)| started(rank))?;
    let number = |name: &str| env(name).and_then(|n| n.parse().ok());
    Some(Launcher { variable, rank: number(variable), size: number(size) })
}

/// The libraries to try, in order: `ADL_MPI` alone if it is set, otherwise each name where the system's loader looks,
/// then beside the `mpiexec` on the path, as in a Python environment.
pub fn candidates(launcher: Option<&Launcher>) -> Vec<PathBuf> {
    if let Some(path) = std::env::var_os("ADL_MPI").filter(|p| !p.is_empty()) {
        return vec![path.into()];
    }
    let open = launcher.is_some_and(|l| l.variable == "OMPI_COMM_WORLD_RANK");
    let hydra = launcher.is_some_and(|l| l.variable == "PMI_RANK");
    // A library that does not understand the launcher would run each process as a world of one rank.
    let fits = |name: &&str| !(open && name.ends_with(".so.12") || hydra && name.ends_with(".so.40"));
    let beside = mpiexec().and_then(|p| Some(p.parent()?.parent()?.join("lib")));
    let names: Vec<&str> = NAMES.iter().copied().filter(fits).collect();
    let near = beside.iter().flat_map(|dir| names.iter().map(|n| dir.join(n))).filter(|p| p.is_file());
    names.iter().map(PathBuf::from).chain(near).collect()
}

/// The launcher `mpiexec` that the path names.
pub fn mpiexec() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join("mpiexec")).find(|p| p.is_file())
}
