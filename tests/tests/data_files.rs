//! Data files: every format comes back as it was written, and a wrong file is an error with its place.

use adl_session::Session;
use adl_tests::{Memory, echo_in};

/// A session whose host has these files.
fn with_files(files: &[(&str, &[u8])]) -> Session {
    let host = Memory::default();
    for (name, bytes) in files {
        host.files.borrow_mut().insert((*name).to_owned(), bytes.to_vec());
    }
    Session::new(Box::new(host))
}

fn check(files: &[(&str, &[u8])], cases: &[(&str, &str)]) {
    let mut s = with_files(files);
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(text, want)| {
            let have = echo_in(&mut s, text);
            (have != *want).then(|| format!("{text}\n    gives {have}\n    not   {want}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn csv_cells_and_types() {
    check(
        &[
            ("q.csv", b"name,note,Value (cm),type,2nd\n\"Smith, J\",\"said \"\"hi\"\"\nthere\",1.5,a,1\n  Bob ,\" x \",,b,2\n"),
            ("bom.csv", b"\xef\xbb\xbfa,b\r\n1,true\r\n\r\n2,false"),
            ("head.csv", b"a,b\n"),
            ("na.csv", b"a,b,c\n1,NA,NA\n,2,NA\n3,nan,\n"),
            ("big.csv", b"a,b\n9223372036854775808,9007199254740993\n1,2\n"),
            ("names.csv", b",T,let,a b\n1,2,3,4\n"),
            ("t.csv", b"a,b\n1,2\n3,x\n"),
            ("m.csv", b"a,b\n1,2\n3,4.5\n"),
            ("semicolon.csv", b"a;b\n1.5;\"x;y\"\n2;z\n"),
            ("comma.csv", b"a;b\n1,5;2\n"),
            ("tab.csv", b"a\tb\tc\n1\t\tx y\n2\t3\t\n"),
            ("blank.txt", b"  x   y\n 1.0   2\n-3.5\t4 \n"),
            ("savetxt.txt", b"1.000e+00 2.0e+00\n3.0e+00 4.0e+00\n"),
            ("marked.txt", b"# x y\n1 \"a b\"\n2 c\n"),
            ("remarks.txt", b"# made by hand\n#   x  y\n1 2\n# half\n3 4\n# end\n"),
            ("named.txt", b"# two columns\nx y\n1 2\n"),
            ("bare.txt", b"# of the telescope\n 1.5e0 2\n -3 4\n"),
            ("no_names.csv", b"1,2\n1,4\n"),
            ("town.csv", b"full address\n5 Main Street\nat home\n"),
        ],
        &[
            ("read_csv \"blank.txt\"", "{x = [1.0, -3.5], y = [2, 4]} : {x : [2]Float, y : [2]Int}"),
            ("(read_csv \"savetxt.txt\" : [_][_]Float)", "[[1.0, 2.0], [3.0, 4.0]] : [2][2]Float"),
            ("read_csv \"remarks.txt\"", "{x = [1, 3], y = [2, 4]} : {x : [2]Int, y : [2]Int}"),
            ("read_csv \"named.txt\"", "{x = [1], y = [2]} : {x : [1]Int, y : [1]Int}"),
            ("(read_csv \"bare.txt\" : [_][_]Float)", "[[1.5, 2.0], [-3.0, 4.0]] : [2][2]Float"),
            ("read_csv \"marked.txt\"", "{x = [1, 2], y = [\"a b\", \"c\"]} : {x : [2]Int, y : [2]String}"),
            ("(read_csv \"no_names.csv\" : [_][2]Float)", "[[1.0, 2.0], [1.0, 4.0]] : [2][2]Float"),
            ("read_csv \"town.csv\"", "{full_address = [\"5 Main Street\", \"at home\"]} : {full_address : [2]String}"),
            ("read_csv \"semicolon.csv\"", "{a = [1.5, 2.0], b = [\"x;y\", \"z\"]} : {a : [2]Float, b : [2]String}"),
            ("read_csv \"tab.csv\"", "{a = [1, 2], b = [nan, 3.0], c = [\"x y\", \"\"]} : {a : [2]Int, b : [2]Float, c : [2]String}"),
            ("(read_csv \"comma.csv\" : {a : [_]Float})", "E0802: comma.csv:2:1: `1,5` in column 1 (`a`) is no number"),
            (
                "read_csv \"q.csv\"",
                "{name = [\"Smith, J\", \"Bob\"], note = [\"said \\\"hi\\\"\\nthere\", \" x \"], value__cm_ = [1.5, nan], type_ = [\"a\", \"b\"], _2nd = [1, 2]} : \
                 {name : [2]String, note : [2]String, value__cm_ : [2]Float, type_ : [2]String, _2nd : [2]Int}",
            ),
            ("(read_csv \"q.csv\").value__cm_", "[1.5, nan] : [2]Float"),
            ("(read_csv \"q.csv\").type_", "[\"a\", \"b\"] : [2]String"),
            ("read_csv \"bom.csv\"", "{a = [1, 2], b = [true, false]} : {a : [2]Int, b : [2]Bool}"),
            ("read_csv \"head.csv\"", "{a = [], b = []} : {a : [0]Float, b : [0]Float}"),
            (
                "read_csv \"na.csv\"",
                "{a = [1.0, nan, 3.0], b = [nan, 2.0, nan], c = [nan, nan, nan]} : {a : [3]Float, b : [3]Float, c : [3]Float}",
            ),
            ("read_csv \"big.csv\"", "{a = [9.223372036854776e18, 1.0], b = [9007199254740993, 2]} : {a : [2]Float, b : [2]Int}"),
            (
                "read_csv \"names.csv\"",
                "{column_1 = [1], t = [2], let_ = [3], a_b = [4]} : {column_1 : [1]Int, t : [1]Int, let_ : [1]Int, a_b : [1]Int}",
            ),
            ("(read_csv \"t.csv\" : {a : [_]Float})", "{a = [1.0, 3.0]} : {a : [2]Float}"),
            ("let t : {b : [_]String} = read_csv \"t.csv\"\nt.b", "[\"2\", \"x\"] : [2]String"),
            ("let p = \"t.csv\" in (read_csv p : {a : [_]Float})", "{a = [1.0, 3.0]} : {a : [2]Float}"),
            ("let p = \"t.csv\" in (read_csv p : {a : [_]F32, b : [_]String})", "{a = [1.0, 3.0], b = [\"2\", \"x\"]} : {a : [2]F32, b : [2]String}"),
            ("let p = \"t.csv\" in (read_csv p : [_]{a : Int, b : String})", "[{a = 1, b = \"2\"}, {a = 3, b = \"x\"}] : [2]{a : Int, b : String}"),
            ("let p = \"na.csv\" in (read_csv p : {a : [_](Option Int)})", "{a = [Some 1, None, Some 3]} : {a : [3]Option Int}"),
            ("let p = \"m.csv\" in (read_csv p : [_][_]Float)", "[[1.0, 2.0], [3.0, 4.5]] : [2][2]Float"),
        ],
    );
}

#[test]
fn wrong_csv_files_are_errors_with_their_place() {
    check(
        &[
            ("empty.csv", b""),
            ("short.csv", b"a,b\n1,2\n3\n"),
            ("long.csv", b"a,b\n1,2\n3,4,5\n"),
            ("twice.csv", b"a,b,a\n1,2,3\n"),
            ("text.csv", b"a,b\n\"1\n\",2\n3,x\n"),
            ("bytes.csv", b"a,b\n1,\xff\n"),
            ("open.csv", b"a,b\n1,\"x\n2,3\n"),
            ("behind.csv", b"a,b\n1,\"x\"y\n"),
            ("two.csv", b"a,b\n1,2\n"),
            ("numbers.csv", b"1,2\n3,4\n"),
            ("ragged.txt", b"x y\n1 2\n3\n4 5\n"),
            ("wide.txt", b"x\n1 2\n"),
            ("words.txt", b"first second\nno number\n"),
        ],
        &[
            ("(read_csv \"two.csv\" : [_][3]Float)", "E0802: two.csv has 2 columns, and the type wants 3"),
            ("let t : [_][1]Float = read_csv \"two.csv\"", "E0802: two.csv has 2 columns, and the type wants 1"),
            ("(read_csv \"two.csv\" : [2][_]Float)", "E0702: two.csv has 1 row, and the type wants 2"),
            (
                "(read_csv \"two.csv\" : [_]{a : Int, b : Int, c : Int})",
                "E0802: two.csv:1:1: there is no column `c`: the file has 2 columns (a, b), and the type wants 3",
            ),
            (
                "read_csv \"numbers.csv\"",
                "E0802: numbers.csv:1:1: the first line has only numbers, and must name the columns; a file without names is read as a matrix: `let t : [_][_]Float = read_csv \"numbers.csv\"`",
            ),
            ("read_csv \"ragged.txt\"", "E0802: ragged.txt:3:1: this row ends after 1 of 2 cells"),
            ("read_csv \"wide.txt\"", "E0802: wide.txt:2:3: this row has more cells than the header, which has 1"),
            (
                "read_csv \"words.txt\"",
                "E0802: words.txt:1:1: this may be one column or several, between blanks: separate columns with commas, or put texts that have blanks in quotes",
            ),
            ("read_csv \"empty.csv\"", "E0802: empty.csv:1:1: the file is empty: the first line names the columns"),
            ("read_csv \"short.csv\"", "E0802: short.csv:3:1: this row ends after 1 of 2 cells"),
            ("read_csv \"long.csv\"", "E0802: long.csv:3:5: this row has more cells than the header, which has 2"),
            ("read_csv \"twice.csv\"", "E0802: twice.csv:1:5: two columns are named `a`"),
            (
                "let p = \"text.csv\" in (read_csv p : {b : [_]Float})",
                "E0802: text.csv:4:3: `x` in column 2 (`b`) is no number",
            ),
            (
                "let p = \"text.csv\" in (read_csv p : {c : [_]Float})",
                "E0802: text.csv:1:1: there is no column `c`: the file has 2 columns (a, b), and the type wants 1",
            ),
            (
                "let p = \"text.csv\" in (read_csv p : {a : [3]Float})",
                "E0702: text.csv has 2 rows, and the type wants 3",
            ),
            ("read_csv \"bytes.csv\"", "E0802: bytes.csv:2:3: the file is not UTF-8 text"),
            ("read_csv \"open.csv\"", "E0802: open.csv:2:3: this quote is not closed"),
            (
                "read_csv \"behind.csv\"",
                "E0802: behind.csv:2:6: text behind the closing quote of a cell (a quote inside is written twice)",
            ),
            ("read_csv \"missing.csv\"", "E0801: missing.csv: there is no such file"),
            ("write_csv \"o.csv\" {x = [1.0], y = [1, 2]}", "E0802: the column `x` has 1 rows, and `y` has 2"),
        ],
    );
}

#[test]
fn files_come_back_as_they_were_written() {
    let values = [
        (
            "csv",
            "{x = [1.5, inf, -0.0], s = [\"a,b\", \"\", \" q\\\"\\n\"], i = [1, 2, 3], b = [true, false, true]}",
            "{x : [_]Float, s : [_]String, i : [_]Int, b : [_]Bool}",
        ),
        ("csv", "[{a = 1, b = Some 2.5}, {a = 2, b = None}]", "[_]{a : Int, b : Option Float}"),
        ("npy", "[[1.0, -2.5], [3.0, inf]]", "[_][_]Float"),
        ("npy", "[1, -2]", "[_]Int"),
        ("npy", "[[true], [false]]", "[_][_]Bool"),
        ("npy", "2.5", "Float"),
        ("npy", "[1.5f32]", "[_]F32"),
        ("npy", "{a = [1.0, 2.0], b = [[1], [2]]}", "{a : [_]Float, b : [_][_]Int}"),
        ("npy", "{a = [true], n = 3, x = 2.5}", "{a : [_]Bool, n : Int, x : Float}"),
        (
            "json",
            "{x = 0.1, s = \"a\\\"\\n\\u{1}\\u{1F600}\", l = [(1, 2.5)], o = Some [true], n = (None : Option Int)}",
            "{x : Float, s : String, l : [_](Int, Float), o : Option [_]Bool, n : Option Int}",
        ),
        ("json", "1 :: 2 :: Nil", "List Int"),
        ("json", "[Leaf, Node Leaf 1.5 (Node Leaf (-2.0) Leaf), P {a = 3} (Some (U (1.0 :: Nil)))]", "[_]T"),
    ];
    let mut s = with_files(&[]);
    echo_in(&mut s, "type T = Leaf | Node T Float T | P {a : Int} (Option U) and U = U (List Float)");
    for (format, value, ty) in values {
        let text = format!(
            "let v : {ty} = {value}\nwrite_{format} \"f.{format}\" v\nlet path = \"f.{format}\"\nlet back : {ty} = read_{format} path\nback == v"
        );
        assert_eq!(echo_in(&mut s, &text), "true : Bool", "{format} {value}");
    }
}

#[test]
fn json_of_the_wrong_type_is_an_error_with_its_place() {
    check(
        &[
            ("a.json", b"{\"x\": 1.5,\n \"l\": [1, 2, 3], \"more\": {\"deep\": [1, {\"a\": []}]}}"),
            ("ragged.json", b"[[1, 2], [3]]"),
            ("cut.json", b"[1, 2,"),
            ("behind.json", b"[1, 2] x"),
        ],
        &[
            ("(read_json \"a.json\" : {l : [_]Int})", "{l = [1, 2, 3]} : {l : [3]Int}"),
            (
                "(read_json \"a.json\" : {x : Int})",
                "E0804: a.json:1:7: `x`: expected a whole number of 64 bits, found a number",
            ),
            ("(read_json \"a.json\" : {l : [_]String})", "E0804: a.json:2:8: `l[0]`: expected a text, found a number"),
            ("(read_json \"a.json\" : {l : [2]Int})", "E0804: a.json:2:7: expected a list of 2, found one of 3"),
            ("(read_json \"a.json\" : {y : Int})", "E0804: a.json:1:1: this object has no field `y`"),
            (
                "(read_json \"ragged.json\" : [_][_]Float)",
                "E0804: ragged.json:1:1: row 1 has shape [1], row 0 has shape [2]",
            ),
            (
                "(read_json \"cut.json\" : [_]Float)",
                "E0804: cut.json:1:7: `[2]`: expected a number, found the end of the file",
            ),
            ("(read_json \"behind.json\" : [_]Float)", "E0804: behind.json:1:8: text behind the value"),
        ],
    );
    let deep = format!("{{\"x\": {}{}, \"y\": 1.0}}", "[".repeat(100_000), "]".repeat(100_000));
    check(&[("deep.json", deep.as_bytes())], &[("(read_json \"deep.json\" : {y : Float})", "{y = 1.0} : {y : Float}")]);
}

/// An NPY file of version 1.
fn npy(descr: &str, fortran: &str, shape: &str, body: &[u8]) -> Vec<u8> {
    let mut head = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
    head.push_str(&" ".repeat(63 - (10 + head.len()) % 64));
    head.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((head.len() as u16).to_le_bytes());
    out.extend(head.as_bytes());
    out.extend(body);
    out
}

#[test]
fn npy_of_every_kind() {
    let floats: Vec<u8> = (1..=6).flat_map(|x| f64::from(x).to_le_bytes()).collect();
    let files = [
        ("f8.npy", npy("<f8", "False", "(2, 3)", &floats)),
        ("f8f.npy", npy("<f8", "True", "(2, 3)", &floats)),
        ("f4.npy", npy("<f4", "False", "(2,)", &[1.5f32.to_le_bytes(), 2.5f32.to_le_bytes()].concat())),
        ("i4.npy", npy(">i4", "False", "(2,)", &[(-1i32).to_be_bytes(), 2i32.to_be_bytes()].concat())),
        // 1.0, -2.0, 65504.0, the least, inf, nan.
        (
            "f2.npy",
            npy(
                "<f2",
                "False",
                "(6,)",
                &[0x3c00u16, 0xc000, 0x7bff, 0x0001, 0x7c00, 0x7e00].map(u16::to_le_bytes).concat(),
            ),
        ),
        ("b1.npy", npy("|b1", "False", "(2,)", &[1, 0])),
        ("s.npy", npy("<f8", "False", "()", &2.5f64.to_le_bytes())),
        ("none.npy", npy("<f8", "True", "(0, 3)", &[])),
        ("u8.npy", npy("<u8", "False", "(3,)", &[1u64, 1 << 63, u64::MAX].map(u64::to_le_bytes).concat())),
        ("c.npy", npy("<c16", "False", "(1,)", &[0; 16])),
        ("cut.npy", npy("<f8", "False", "(3,)", &[0; 16])),
        ("huge.npy", npy("<f8", "False", "(4294967296, 4294967296)", &[0; 16])),
    ];
    let files: Vec<(&str, &[u8])> = files.iter().map(|(n, b)| (*n, b.as_slice())).collect();
    check(
        &files,
        &[
            ("read_npy \"f8.npy\"", "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]] : [2][3]Float"),
            ("read_npy \"f2.npy\"", "[1.0, -2.0, 65504.0, 5.960464477539063e-8, inf, nan] : [6]Float"),
            ("read_npy \"f8f.npy\"", "[[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]] : [2][3]Float"),
            ("read_npy \"f4.npy\"", "[1.5, 2.5] : [2]Float"),
            ("let p = \"f4.npy\" in (read_npy p : [_]F32)", "[1.5, 2.5] : [2]F32"),
            ("read_npy \"i4.npy\"", "[-1, 2] : [2]Int"),
            ("let p = \"i4.npy\" in (read_npy p : [_]Float)", "[-1.0, 2.0] : [2]Float"),
            ("(read_npy \"i4.npy\" : [_]Float)", "[-1.0, 2.0] : [2]Float"),
            ("(read_npy \"f8.npy\" : [_][_]F32)", "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]] : [2][3]F32"),
            (
                "(read_npy \"f8.npy\" : [3][3]Float)",
                "E0301: [2][3]Float does not match [3][3]Float: size 2 is from line 1, size 3 from line 1",
            ),
            ("(read_npy \"f8.npy\" : [_][_]Int)", "E0203: expected [_][_]Int for the file, found [2][3]Float"),
            ("(read_npy \"nosuch.npy\" : [_]Int)", "E0801: nosuch.npy: there is no such file"),
            ("read_npy \"b1.npy\"", "[true, false] : [2]Bool"),
            ("read_npy \"s.npy\"", "2.5 : Float"),
            ("read_npy \"none.npy\"", "[] : [0][3]Float"),
            (
                "let p = \"f8.npy\" in (read_npy p : [_]Float)",
                "E0803: f8.npy: the array has 2 axes, and the type wants 1",
            ),
            (
                "let p = \"f8.npy\" in (read_npy p : [3][3]Float)",
                "E0702: f8.npy has the shape [2, 3], and the type wants [3, 3]",
            ),
            (
                "let p = \"f8.npy\" in (read_npy p : [_][_]Int)",
                "E0803: f8.npy: the array holds Floats, and the type wants something else",
            ),
            ("(read_npy \"u8.npy\" : [_]Float)", "[1.0, 9.223372036854776e18, 1.8446744073709552e19] : [3]Float"),
            ("let p = \"u8.npy\" in (read_npy p : [_]F32)", "[1.0, 9.223372e18, 1.8446744e19] : [3]F32"),
            (
                "let p = \"u8.npy\" in (read_npy p : [_]Int)",
                "E0703: u8.npy: Int overflow: a number does not fit in 64 bits",
            ),
            ("read_npy \"c.npy\"", "E0803: c.npy: elements of type <c16 are not supported"),
            ("read_npy \"cut.npy\"", "E0803: cut.npy: the file ends before its data does"),
            (
                "read_npy \"huge.npy\"",
                "E0710: there is not enough memory for an array of shape [4294967296, 4294967296]",
            ),
        ],
    );
}

/// Files above a megabyte without quotes are read in parts; one quoted cell, and they are not. Both are the same to the program.
#[test]
fn large_csv_files_read_as_small_ones_do() {
    let row = |i: usize| match i % 500 {
        0 => format!("{i},NA,true,{}\n", i % 7),
        1 => format!(" {i} ,{}e-3 ,FALSE,{}\r\n\n", i * i, i % 5),
        _ => format!("{i},{},false,{}\n", i as f64 * 0.37 - 1e4, i % 3),
    };
    let plain: String = std::iter::once("a,b,c,d\n".to_owned()).chain((0..60_000).map(row)).collect();
    assert!(plain.len() > 1 << 20, "{}", plain.len());
    let quoted = plain.replacen("\n0,", "\n\"0\",", 1);
    let late = plain.replace("\n59997,", "\n59997x,");
    let short = format!("{plain}1,2,true\n");
    let mut session = with_files(&[
        ("plain", plain.as_bytes()),
        ("quoted", quoted.as_bytes()),
        ("late", late.as_bytes()),
        ("short", short.as_bytes()),
    ]);
    let reader = "let read path : {a : [_]Int, b : [_]Float, c : [_]Bool} = read_csv path";
    assert!(session.eval(reader).ok());
    let mut same = |a: &str, b: &str| {
        let (a, b) = (echo_in(&mut session, a), echo_in(&mut session, b));
        assert_eq!(a, b);
        a
    };
    let sums = |p: &str| {
        format!(
            "let t = read \"{p}\" in (sum t.a, sum t.b[map (fun x -> not (is_nan x)) t.b], count t.c, count (map is_nan t.b), t.b[1::9999])"
        )
    };
    assert!(same(&sums("plain"), &sums("quoted")).starts_with("(1799970000, "));
    let typed = |p: &str| format!("let t = read_csv \"{p}\" in (sum t.d, t.a[59999], t.c[501], count t.c)");
    let all = same(&typed("plain"), &typed("quoted"));
    assert_eq!(all, "(60237, 59999, false, 120) : (Int, Int, Bool, Int)");
    check_in(
        &mut session,
        &[
            ("read \"late\"", "E0802: late:60119:1: `59997x` in column 1 (`a`) is no Int"),
            ("read \"short\"", "E0802: short:60122:5: this row ends after 3 of 4 cells"),
        ],
    );
}

fn check_in(s: &mut Session, cases: &[(&str, &str)]) {
    for (text, want) in cases {
        assert_eq!(echo_in(s, text), *want, "{text}");
    }
}
