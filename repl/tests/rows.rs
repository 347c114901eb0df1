//! Tables that are read chunk by chunk: in less memory than they take, from directories, and from files that are damaged or change.

use crate::common;

use common::Dir;

/// An NPY file of so many rows of two Floats.
fn npy(rows: usize) -> Vec<u8> {
    let head = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, 2), }}");
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend(((head.len() + 1) as u16).to_le_bytes());
    out.extend(head.as_bytes());
    out.push(b'\n');
    for i in 0..2 * rows {
        out.extend((f64::from((i % 1000) as u32) / 100.0).to_le_bytes());
    }
    out
}

#[test]
fn a_gradient_needs_less_memory_than_its_table() {
    let dir = Dir::new("rows-memory");
    // 128 MiB, and a process that holds 110 MiB at most.
    dir.file("m.npy", npy(1 << 23));
    let body = "(fun r -> (w * r[0] - sin r[1]) ^ 2)";
    dir.file("a.adl", format!("let data = rows.open \"m.npy\"\nprint (grad (fun w -> rows.sum {body} data) 0.5)\n"));
    dir.file("b.adl", format!("let data = read_npy \"m.npy\"\nprint (grad (fun w -> sum (map {body} data)) 0.5)\n"));
    let less = dir.adl(&["--memory", "110", "b.adl"]);
    assert!(less.code == 1 && less.err.contains("E0710"), "{}", less.err);
    let number = |args: &[&str]| {
        let run = dir.adl(args);
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{args:?}");
        run.out.trim().parse::<f64>().unwrap()
    };
    let (by_chunks, whole) = (number(&["--memory", "110", "a.adl"]), number(&["b.adl"]));
    assert!((by_chunks / whole - 1.0).abs() < 1e-12, "{by_chunks} {whole}");
}

#[test]
fn a_directory_is_a_table() {
    let dir = Dir::new("rows-directory");
    dir.file("t/b.csv", "x,y\n3,c\n4.5,d\n")
        .file("t/a.csv", "y,x,z\na,1,\nb,2,\n")
        .file("t/_SUCCESS", "")
        .file("t/.h", "?");
    dir.file("a.adl", "let t = rows.open \"t\"\nprint (rows.collect (rows.map (fun r -> r.x) t))\nprint (t, rows.sum (fun r -> r.x) t)\n");
    dir.adl(&["a.adl"]).is(0, "[1.0, 2.0, 3.0, 4.5]\n(<rows: 2 chunks>, 10.5)\n", "");
    // Every file must have the columns of the type.
    dir.file("b.adl", "let t : Rows {z : String} = rows.open \"t\"\n");
    dir.adl(&["b.adl"]).is(1, "", "t/b.csv: there is no column `z`: the file has 2 columns (x, y)");
    dir.file("empty/.h", "");
    dir.adl(&["-e", "(rows.open \"empty\" : Rows Float)"]).is(1, "", "empty: the directory has no files");
}

#[test]
fn blocks_of_csv_files_end_with_rows() {
    let dir = Dir::new("rows-csv");
    // Three blocks, with line breaks in quotes.
    let mut text = String::from("\u{feff}name,n\n");
    for i in 0..400_000 {
        text.push_str(&if i % 1000 == 7 { format!("\"a,\n\"\"{i}\",{i}\n") } else { format!("row number {i},{i}\n") });
    }
    dir.file("t.csv", &text);
    let head = "let t = rows.open \"t.csv\"\n";
    dir.file("a.adl", format!("{head}print (rows.chunks t, rows.count t, rows.sum (fun r -> r.n) t)\nprint (rows.reduce max 0 (fun r -> io.length r.name) t)\n"));
    dir.adl(&["a.adl"]).is(0, "(3, 400000, 79999800000)\n17\n", "");
    // Lines are counted through the file: 400 of them more than rows, and the header.
    dir.file("t.csv", text + "last,wrong\n");
    dir.file("b.adl", "let t : Rows {n : Int} = rows.open \"t.csv\"\nprint (rows.sum (fun r -> r.n) t)\n");
    dir.adl(&["b.adl"]).is(1, "", "t.csv:400402:6: `wrong` in column 2 (`n`) is no");
    // A text that does not end.
    dir.file("t.csv", format!("n,m\n\"{}", "x\n".repeat(3_000_000)));
    dir.adl(&["b.adl"]).is(1, "", "t.csv:");
}

#[test]
fn damaged_files_are_errors() {
    let dir = Dir::new("rows-damaged");
    dir.file("w.adl", "let t = for i < 1000 -> {x = float i, n = i}\nwrite_parquet \"t.parquet\" t\nwrite_arrow \"t.arrow\" t\nwrite_npy \"t.npy\" (for i < 1000 -> float i)\n");
    dir.adl(&["w.adl"]).is(0, "", "");
    let sum = |ty: &str, file: &str| {
        format!(
            "let t : Rows {ty} = rows.open \"{file}\"\nprint (rows.sum (fun r -> r) (rows.map (fun r -> {}) t))\n",
            if ty == "Float" { "r" } else { "r.x" }
        )
    };
    for (file, ty) in [("t.parquet", "{x : Float}"), ("t.arrow", "{x : Float}"), ("t.npy", "Float")] {
        let whole = std::fs::read(dir.path().join(file)).unwrap();
        dir.file("a.adl", sum(ty, file));
        dir.adl(&["a.adl"]).is(0, "499500.0\n", "");
        // Cut, or with other bytes: an error or a number, and no panic.
        for k in 0..40 {
            let at = whole.len() * k / 40;
            let mut other = whole.clone();
            other[at..(at + 7).min(whole.len())].fill(0xa5);
            for bytes in [&whole[..at], &other] {
                dir.file(file, bytes);
                let run = dir.adl(&["a.adl"]);
                assert!(run.code == 0 || run.code == 1 && run.err.contains("error[E"), "{file} {k}: {}", run.err);
                assert!(!run.err.contains("internal error"), "{file} {k}: {}", run.err);
            }
        }
        dir.file(file, &whole);
    }
    dir.file("a.adl", sum("{x : Float}", "t.npy"));
    dir.adl(&["a.adl"]).is(1, "", "t.npy: the rows of an NPY file are numbers or arrays, and the type wants records");
    dir.file("a.adl", sum("Float", "t.arrow"));
    dir.adl(&["a.adl"]).is(1, "", "t.arrow: the rows of an Arrow IPC file are records, and the type wants others");
}
