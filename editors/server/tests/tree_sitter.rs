//! The tree-sitter grammar and the parser of adl make the same of every program of the repository.

use adl_syntax::ast::{Binding, ExprKind, Item, ItemKind, LetGroup, Program, Stmt};
use adl_syntax::diag::Diagnostic;
use adl_syntax::names::each_expr;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .find(|p| p.join("docs/ARCHITECTURE.md").exists())
        .unwrap()
        .to_owned()
}

/// The nodes that are compared: the kind, and the byte where it counts.
#[derive(Default)]
struct Nodes<'a> {
    text: &'a str,
    found: Vec<(String, u64)>,
}

impl Nodes<'_> {
    fn add(&mut self, kind: &str, at: u32) {
        self.found.push((kind.to_owned(), u64::from(at)));
    }

    fn item(&mut self, item: &Item) {
        match &item.kind {
            ItemKind::Let(group) => self.group(group),
            ItemKind::Types(decls) => decls.iter().for_each(|d| self.add("type_declaration", d.name.span.lo)),
            ItemKind::Import { .. } => self.add("import", item.span.lo),
            ItemKind::Test { body, .. } => {
                self.add("test", item.span.lo);
                self.expr(body);
            }
            ItemKind::Bench { body, .. } => {
                self.add("bench", item.span.lo);
                self.expr(body);
            }
            ItemKind::Expr(body) => self.expr(body),
            ItemKind::Error => {}
        }
    }

    fn group(&mut self, group: &LetGroup) {
        for b in &group.bindings {
            self.binding(b);
            self.expr(&b.body);
        }
    }

    fn binding(&mut self, b: &Binding) {
        self.add("binding", b.span.lo);
    }

    fn expr(&mut self, root_expr: &adl_syntax::ast::Expr) {
        each_expr(root_expr, &mut |expr| {
            let bracket = self.text[expr.span.lo as usize..].starts_with('(');
            match &expr.kind {
                ExprKind::App(..) => self.add("application", expr.span.lo),
                ExprKind::Bin(_, at, ..) => self.add("binary", at.lo),
                ExprKind::Fun(..) => self.add("function", expr.span.lo),
                ExprKind::Lin(..) => self.add("linear_function", expr.span.lo),
                ExprKind::If(..) => self.add("conditional", expr.span.lo),
                ExprKind::Match(_, arms) => {
                    self.add("match", expr.span.lo);
                    arms.iter().for_each(|a| self.add("arm", a.pat.span.lo));
                }
                ExprKind::For(..) => self.add("comprehension", expr.span.lo),
                ExprKind::Loop(..) => self.add("loop", expr.span.lo),
                ExprKind::Index(..) => self.add("index", expr.span.lo),
                ExprKind::Array(_) => self.add("array", expr.span.lo),
                ExprKind::Record(_) => self.add("record", expr.span.lo),
                ExprKind::Update(..) => self.add("update", expr.span.lo),
                ExprKind::Field(_, name) => self.add("field_access", name.span.lo),
                ExprKind::Tuple(_) if bracket => self.add("tuple", expr.span.lo),
                ExprKind::Block(stmts) => stmts.iter().for_each(|s| {
                    if let Stmt::Let(group, _) = s {
                        group.bindings.iter().for_each(|b| self.binding(b));
                    }
                }),
                _ => {}
            }
        });
    }
}

fn nodes(program: &Program, text: &str) -> Vec<(String, u64)> {
    let mut nodes = Nodes { text, found: Vec::new() };
    program.items.iter().for_each(|i| nodes.item(i));
    nodes.found.sort();
    nodes.found
}

/// Every program that has no errors. Those of `tests/errors` have some that the parser of adl leaves to later passes.
fn programs(dir: &Path, out: &mut Vec<PathBuf>) {
    for e in std::fs::read_dir(dir).unwrap() {
        let path = e.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !["target", "node_modules", "errors"].contains(&name.as_str()) && !name.starts_with('.') {
            programs(&path, out);
        } else if path.extension().is_some_and(|x| x == "adl") {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let (_, diags) = adl_syntax::parse(Default::default(), &text);
            if !diags.iter().any(Diagnostic::is_error) && !text.is_empty() {
                out.push(path);
            }
        }
    }
}

#[test]
fn both_parsers_make_the_same_trees() {
    let python = std::env::var("ADL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let there = |command: &str, args: &[&str]| {
        let ran = Command::new(command).args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
        ran.is_ok_and(|s| s.success())
    };
    if !there(&python, &["-c", "import tree_sitter"]) || !there("cc", &["--version"]) {
        eprintln!("skipped: a C compiler and the Python package tree-sitter are needed");
        return;
    }
    let grammar = root().join("editors/tree-sitter-adl");
    let library = std::env::temp_dir().join(format!("adl-grammar-{}.so", std::process::id()));
    let sources = ["src/parser.c", "src/scanner.c"].map(|f| grammar.join(f));
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O0", "-w", "-I"])
        .arg(grammar.join("src"))
        .arg("-o")
        .arg(&library)
        .args(sources)
        .status();
    assert!(built.unwrap().success());
    let mut files = Vec::new();
    programs(&root(), &mut files);
    files.sort();
    assert!(files.len() > 150);
    let ran = Command::new(&python)
        .arg(grammar.join("test/dump.py"))
        .arg(&library)
        .arg(grammar.join("queries"))
        .args(&files)
        .output()
        .unwrap();
    let _ = std::fs::remove_file(&library);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    for line in String::from_utf8(ran.stdout).unwrap().lines() {
        let theirs: Json = serde_json::from_str(line).unwrap();
        let file = theirs["file"].as_str().unwrap();
        assert_eq!(theirs["errors"], 0, "{file}");
        let text = std::fs::read_to_string(file).unwrap();
        let ours = nodes(&adl_syntax::parse(Default::default(), &text).0, &text);
        let pair = |n: &Json| (n[0].as_str().unwrap().to_owned(), n[1].as_u64().unwrap());
        let theirs: Vec<(String, u64)> = theirs["nodes"].as_array().unwrap().iter().map(pair).collect();
        let only = |a: &[(String, u64)], b: &[(String, u64)]| {
            let line = |at: u64| text[..at as usize].matches('\n').count() + 1;
            a.iter()
                .filter(|n| !b.contains(n))
                .map(|(k, at)| format!("{k} in line {}", line(*at)))
                .take(5)
                .collect::<Vec<_>>()
        };
        assert!(
            ours == theirs,
            "{file}: only adl has {:?}, only tree-sitter {:?}",
            only(&ours, &theirs),
            only(&theirs, &ours)
        );
    }
}
