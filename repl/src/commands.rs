//! Sub-commands and batch runs. Each returns the exit code.

use crate::Global;
use crate::host::Terminal;
use adl_session::{Outcome, Session};
use adl_syntax::diag::Diagnostic;
use adl_syntax::render;
use std::io::{IsTerminal, Read};

/// A session on the terminal that stops on an interrupt.
pub fn session(global: &Global, args: Vec<String>) -> Session {
    let mut s = Session::new(Box::new(Terminal::new(args)));
    s.set_stack(global.stack.saturating_mul(1 << 20));
    // Without a handler the default one ends the process, which is right too.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, s.interrupt());
    s
}

fn colored(global: &Global) -> bool {
    match global.color.as_str() {
        "always" => true,
        "never" => false,
        _ => std::env::var_os("NO_COLOR").is_none() && std::io::stderr().is_terminal(),
    }
}

/// Writes diagnostics to standard error.
pub fn report(global: &Global, s: &mut Session, diags: &[Diagnostic]) {
    s.host().flush();
    for d in diags {
        match global.json {
            true => eprintln!("{}", render::json(d, &s.sources)),
            false => eprintln!("{}", render::text(d, &s.sources, colored(global))),
        }
    }
}

fn finish(global: &Global, s: &mut Session, out: &Outcome) -> u8 {
    report(global, s, &out.diags);
    match (out.interrupted, out.ok()) {
        (true, _) => 130,
        (_, true) => 0,
        _ => 1,
    }
}

fn unreadable(global: &Global, file: &str, e: &std::io::Error) -> u8 {
    let text = match e.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => e.to_string(),
    };
    if global.json {
        eprintln!("{{\"code\":\"E0801\",\"severity\":\"error\",\"message\":{}}}", render::quote(&format!("{file}: {text}")));
    } else {
        eprintln!("error[E0801]: {file}: {text}");
    }
    1
}

/// `adl script.adl ARGS…`.
pub fn script(global: &Global, file: &str, args: Vec<String>) -> u8 {
    let bytes = match std::fs::read(file) {
        Ok(b) => b,
        Err(e) => return unreadable(global, file, &e),
    };
    let mut s = session(global, args);
    let out = s.run_file(file, &bytes);
    finish(global, &mut s, &out)
}

/// `adl --stdin`.
pub fn stdin(global: &Global) -> u8 {
    let mut bytes = Vec::new();
    if let Err(e) = std::io::stdin().read_to_end(&mut bytes) {
        return unreadable(global, "<stdin>", &e);
    }
    let mut s = session(global, Vec::new());
    let out = s.run_file("<stdin>", &bytes);
    finish(global, &mut s, &out)
}

/// `adl -e EXPR`.
pub fn expression(global: &Global, text: &str) -> u8 {
    let mut s = session(global, Vec::new());
    let out = s.eval(text);
    for e in out.echoes.iter().filter(|e| e.name.is_none()) {
        s.host().print(&format!("{} : {}\n", e.value, e.ty));
    }
    finish(global, &mut s, &out)
}

/// `adl check FILES…`.
pub fn check(global: &Global, files: &[String]) -> u8 {
    if files.is_empty() {
        eprintln!("error: `adl check` needs files");
        return 2;
    }
    let mut code = 0;
    for f in files {
        let bytes = match std::fs::read(f) {
            Ok(b) => b,
            Err(e) => {
                code = unreadable(global, f, &e);
                continue;
            }
        };
        let mut s = session(global, Vec::new());
        let diags = s.check_file(f, &bytes);
        report(global, &mut s, &diags);
        if diags.iter().any(Diagnostic::is_error) {
            code = 1;
        }
    }
    code
}

/// `adl check --explain CODE`.
pub fn explain(code: &str) -> u8 {
    match adl_syntax::explain(code).or_else(|| adl_typing::errors::explain(code)).or_else(|| adl_interp::error::explain(code)) {
        Some(text) => {
            println!("{code}\n\n{text}");
            0
        }
        None => {
            eprintln!("error: there is no code `{code}`");
            2
        }
    }
}

/// `adl fmt [--check] FILES…`.
pub fn fmt(global: &Global, check: bool, files: &[String]) -> u8 {
    if files.is_empty() {
        eprintln!("error: `adl fmt` needs files");
        return 2;
    }
    let mut code = 0;
    for f in files {
        let text = match std::fs::read_to_string(f) {
            Ok(t) => t,
            Err(e) => {
                code = unreadable(global, f, &e);
                continue;
            }
        };
        match adl_syntax::format::format(&text) {
            Ok(new) if new == text => {}
            Ok(_) if check => {
                println!("{f}");
                code = 1;
            }
            Ok(new) => {
                if let Err(e) = std::fs::write(f, new) {
                    code = unreadable(global, f, &e);
                }
            }
            Err(diags) => {
                let mut s = session(global, Vec::new());
                // Spans of the formatter are those of a lone file.
                let mut sources = adl_syntax::span::SourceMap::default();
                sources.add(f.as_str(), text);
                s.sources = sources;
                report(global, &mut s, &diags);
                code = 1;
            }
        }
    }
    code
}

/// `adl test FILES…`.
pub fn test(global: &Global, files: &[String]) -> u8 {
    if files.is_empty() {
        eprintln!("error: `adl test` needs files");
        return 2;
    }
    let (mut passed, mut failed) = (0, 0);
    for f in files {
        let bytes = match std::fs::read(f) {
            Ok(b) => b,
            Err(e) => return unreadable(global, f, &e),
        };
        let mut s = session(global, Vec::new());
        let r = s.run_tests(f, &bytes);
        report(global, &mut s, &r.diags);
        passed += r.passed;
        failed += r.failed.len() + usize::from(!r.diags.is_empty());
        for (what, why) in &r.failed {
            println!("{f}: {what}\n  {why}");
        }
    }
    println!("{passed} passed, {failed} failed");
    u8::from(failed > 0)
}

/// `adl doc [NAME]`.
pub fn doc(name: Option<&str>) -> u8 {
    let global = Global { color: "never".into(), json: false, stack: 1024 };
    let mut s = session(&global, Vec::new());
    match name {
        Some(n) => match s.doc(n) {
            Some(text) => println!("{text}"),
            None => {
                eprintln!("error: nothing is named `{n}`");
                return 1;
            }
        },
        None => s.complete("").iter().filter(|c| c.ty != "keyword").for_each(|c| println!("{} : {}", c.text, c.ty)),
    }
    0
}
