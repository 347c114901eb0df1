//! Launchers of several ranks: what the environment says of them, and the command lines and processors of the ranks.

use adl_cli::internals::{difference, without_ranks};
use adl_mpi::find::launcher_in;

#[test]
fn each_launcher_is_recognised() {
    let with = |set: &'static [(&'static str, &'static str)]| {
        launcher_in(&|name| set.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
    };
    assert_eq!(with(&[]), None);
    assert_eq!(with(&[("SLURM_PROCID", "0")]), None);
    let hydra = with(&[("PMI_RANK", "1"), ("PMI_SIZE", "4")]).unwrap();
    assert_eq!((hydra.variable, hydra.rank, hydra.size), ("PMI_RANK", Some(1), Some(4)));
    let slurm = with(&[("SLURM_PROCID", "0"), ("SLURM_STEP_ID", "0"), ("SLURM_NTASKS", "3")]).unwrap();
    assert_eq!((slurm.variable, slurm.size), ("SLURM_PROCID", Some(3)));
    let open = with(&[("PMIX_RANK", "0"), ("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "2")]).unwrap();
    assert_eq!((open.variable, open.size), ("OMPI_COMM_WORLD_RANK", Some(2)));
}

#[test]
fn what_differs_between_ranks_is_named() {
    let all = |texts: &[&str]| texts.iter().map(|t| t.as_bytes().to_vec()).collect::<Vec<_>>();
    let names = ["the version of adl", "the processor"];
    assert_eq!(difference(&names, &all(&["1\nx86_64 avx"; 3])), None);
    assert_eq!(
        difference(&names, &all(&["1\nx86_64 avx", "1\nx86_64 avx", "1\nx86_64"])).unwrap(),
        "the processor differs between ranks: x86_64 avx on rank 0, x86_64 on rank 2"
    );
    assert!(difference(&names, &all(&["1\nx86_64", "2\nx86_64"])).unwrap().starts_with("the version of adl"));
}

#[test]
fn the_flag_is_taken_out() {
    let words = |t: &str| t.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(without_ranks(&words("--ranks 2 a.adl x")), words("a.adl x"));
    assert_eq!(without_ranks(&words("--no-jit --ranks=2 a.adl")), words("--no-jit a.adl"));
}
