//! The limits of memory that a process finds, and which of them counts.

use adl_cli::internals::{MemoryLimits, MemoryUse, groups};

#[test]
fn limits_of_groups_and_of_those_around_them() {
    let root = std::env::temp_dir().join(format!("adl-groups-{}", std::process::id()));
    let file = |name: &str, text: &str| {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    file("a/memory.max", "1000\n");
    file("a/memory.current", "900\n");
    file("a/memory.stat", "anon 500\ninactive_file 300\n");
    file("a/b/memory.max", "max\n");
    file("memory/job/memory.limit_in_bytes", "5000\n");
    file("memory/job/memory.usage_in_bytes", "10\n");
    file("memory/memory.limit_in_bytes", "9223372036854771712\n");
    assert_eq!(groups(&root, "0::/a/b\n"), [(1000, 600)]);
    assert_eq!(groups(&root, "3:cpu:/x\n2:memory,hugetlb:/job\n"), [(5000, 10)]);
    assert_eq!(groups(&root, "0::/\n"), []);
    let _ = std::fs::remove_dir_all(&root);
}

#[test]
fn the_least_limit_counts() {
    let held = MemoryUse { resident: 100, address: 300 };
    let bounds =
        |asked, address| MemoryLimits { asked, address, groups: vec![(3200, 3000)], machine: Some((3200, 3000)) };
    assert_eq!(bounds(None, None).hard(&held).free, 100);
    assert_eq!(bounds(Some(150), Some(400)).hard(&held).free, 50);
    assert_eq!(bounds(Some(900), Some(310)).hard(&held).free, 10);
    assert_eq!(bounds(Some(90), None).left(&held), 0);
    assert_eq!(bounds(None, Some(320)).left(&held), 20);
    // The group is full, but mostly because of other processes.
    assert!(bounds(None, None).left(&held) > 0);
    assert_eq!(bounds(None, None).left(&MemoryUse { resident: 3000, address: 3000 }), 100);
    assert_eq!(MemoryLimits::default().hard(&held).free, u64::MAX);
}
