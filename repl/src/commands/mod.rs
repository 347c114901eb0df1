//! Sub-commands and batch runs. Each returns the exit code.

pub mod fmt;
pub mod inspect;
pub mod kernel;
pub mod measure;
pub mod stored;

use crate::Global;
use crate::host::{Terminal, say};
use crate::rank_watch;
use crate::ranks::{self, RankedHost, SharedAgreement};
use adl_interp::fault;
use adl_interp::host::Host;
use adl_session::{Outcome, Session};
use adl_syntax::diag::Diagnostic;
use adl_syntax::render;
use adl_syntax::span::SourceMap;
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

/// A session with the given host, configured by the flags.
pub fn configured(global: &Global, host: Box<dyn Host>) -> Session {
    let mut session = Session::new(host);
    session.set_stack((global.stack as usize).saturating_mul(1 << 20));
    session.set_compiled_ad(global.ad != "taped");
    session.set_jit(!global.no_jit);
    session.set_check_nan(global.check_nan);
    session.set_threads(global.threads as usize);
    // The flag was validated during parsing.
    let _ = session.set_plan(&global.plan);
    inject_panic();
    // For tests of release builds.
    if std::env::var_os("ADL_VERIFY").is_some() {
        adl_interp::ir::verify_always();
    }
    crate::memory::guard(&session.out_of_memory(), global.memory.map(|mib| mib << 20));
    session
}

/// For tests: makes the first session of the process panic at the point that `ADL_TEST_PANIC` names.
fn inject_panic() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let name = std::env::var("ADL_TEST_PANIC").unwrap_or_default();
        fault::inject(fault::PanicPoint::ALL.iter().find(|(n, _)| *n == name).map(|(_, point)| *point));
    });
}

/// Runs a command. A panic outside any session's boundary ends it with exit code 1.
pub fn guarded(global: &Global, command: impl FnOnce() -> u8) -> u8 {
    fault::catch(command).unwrap_or_else(|fault| {
        report_in(global, &SourceMap::default(), &[fault.error().diag]);
        1
    })
}

/// Opens the device that the flags ask for. Returns whether that succeeded; otherwise the reason is reported and the
/// CPU is used.
pub fn choose_device(global: &Global, s: &mut Session) -> bool {
    match s.set_device(&global.device) {
        Ok(()) => true,
        Err(d) => {
            report(global, s, &[*d]);
            false
        }
    }
}

/// A session on the terminal that an interrupt stops.
pub fn session(global: &Global, args: Vec<String>) -> Session {
    let mut s = configured(global, Box::new(Terminal::new(args).still(global.plain)));
    choose_device(global, &mut s);
    // If the handler cannot be installed, the default one ends the process, which is acceptable.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, s.interrupt());
    crate::host::watch(&s.tick(), &s.out_of_memory());
    s
}

/// Like `session`, for batch runs: a second interrupt ends the process immediately.
fn batch(global: &Global, args: Vec<String>) -> Session {
    batch_of(global, args, None)
}

/// The session of one rank, or of a run without ranks.
fn batch_of(global: &Global, args: Vec<String>, group: Option<&SharedAgreement>) -> Session {
    let terminal = Terminal::new(args).still(global.plain);
    let host: Box<dyn Host> = match group {
        Some(group) => Box::new(RankedHost::on_terminal(terminal, group)),
        None => Box::new(terminal),
    };
    batch_on(global, host, group)
}

fn batch_on(global: &Global, host: Box<dyn Host>, group: Option<&SharedAgreement>) -> Session {
    let mut session = configured(global, host);
    if let Err(d) = session.set_device(&global.device).and_then(|()| agree(global, &session, group)) {
        let ended = Outcome { diags: vec![*d], ..Outcome::default() };
        let code = finish(global, &mut session, &ended, group);
        rank_watch::end(code);
        std::process::exit(i32::from(code));
    }
    let _ = signal_hook::flag::register_conditional_shutdown(signal_hook::consts::SIGINT, 130, session.interrupt());
    let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, session.interrupt());
    rank_watch::handles_interrupts();
    crate::host::watch(&session.tick(), &session.out_of_memory());
    session
}

/// Requires that all ranks compute alike.
fn agree(global: &Global, s: &Session, group: Option<&SharedAgreement>) -> Result<(), Box<Diagnostic>> {
    let device = s.device_lines().into_iter().next().unwrap_or_default();
    group.map_or(Ok(()), |group| ranks::agree(group, global, &device))
}

/// The other ranks of this run, if a launcher has started it.
pub fn group(global: &Global) -> Result<Option<SharedAgreement>, u8> {
    ranks::join(global).map_err(|why| {
        let _ = writeln!(std::io::stderr(), "error[{}]: {why}", adl_interp::error::codes::RANKS);
        1
    })
}

/// Reports that the system or a user has killed a rank.
#[cfg(target_os = "linux")]
pub fn rank_was_killed(global: &Global, rank: u32, size: u32) {
    let why = format!("rank {rank} of {size} was killed: the run has ended");
    let hint =
        "if memory has run out: `--memory` is a limit with an error of its own, and fewer ranks leave more to each";
    let d = Diagnostic::error(adl_interp::error::codes::RANKS, adl_syntax::span::Span::NOWHERE, why).hint(hint);
    report_in(global, &SourceMap::default(), &[d]);
}

/// Whether output to a stream is coloured. The command line has precedence, then `NO_COLOR`, `FORCE_COLOR`, `CLICOLOR_FORCE`,
/// TERM, and whether the stream is a terminal.
pub fn colours(global: &Global, terminal: bool) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    let forced = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty() && v != "0");
    match global.color.as_str() {
        "always" => true,
        "never" => false,
        _ if global.plain || set("NO_COLOR") => false,
        _ if forced("FORCE_COLOR") || forced("CLICOLOR_FORCE") => true,
        _ => terminal && std::env::var_os("TERM").is_none_or(|t| t != "dumb"),
    }
}

/// The style of rendered messages.
fn style(global: &Global) -> render::Style {
    let terminal = std::io::stderr().is_terminal();
    let columns = if terminal {
        terminal_size::terminal_size_of(std::io::stderr()).map_or(0, |(w, _)| usize::from(w.0))
    } else {
        0
    };
    render::Style { color: colours(global, terminal), columns, full_stack: global.full_stack }
}

/// Writes diagnostics to standard error. Failures to write are ignored.
pub fn report(global: &Global, s: &mut Session, diags: &[Diagnostic]) {
    s.host().flush();
    for d in diags {
        let text = if global.json { render::json(d, &s.sources) } else { render::styled(d, &s.sources, style(global)) };
        s.host().warn(&(text + "\n"));
    }
}

fn report_in(global: &Global, sources: &SourceMap, diags: &[Diagnostic]) {
    let mut err = std::io::stderr().lock();
    for d in diags {
        let text = if global.json { render::json(d, sources) } else { render::styled(d, sources, style(global)) };
        let _ = writeln!(err, "{text}");
    }
}

/// Reports a usage error.
pub fn usage(text: &str) -> u8 {
    let _ = writeln!(std::io::stderr(), "error: {text}\n\nFor more information, try '--help'.");
    2
}

fn code_of(diags: &[Diagnostic]) -> u8 {
    match diags.iter().find(|d| d.is_error()) {
        Some(_) if diags.iter().any(|d| d.code == adl_interp::error::codes::INTERRUPT) => 130,
        Some(_) => 1,
        None => 0,
    }
}

fn finish(global: &Global, session: &mut Session, out: &Outcome, group: Option<&SharedAgreement>) -> u8 {
    let code = code_of(&out.diags);
    let code = match group {
        Some(group) => ranks::end(group, session, out.diags.clone(), code, |s, diags| report(global, s, diags)),
        None => {
            report(global, session, &out.diags);
            code
        }
    };
    if global.derivation && group.is_none_or(|g| g.borrow().is_first()) {
        let mut err = std::io::stderr().lock();
        for line in if global.json { session.derivations_json() } else { session.timed_derivations() } {
            let _ = writeln!(err, "{line}");
        }
        if let Some(group) = group {
            let _ = writeln!(err, "{}", group.borrow().sent(global.json));
        }
    }
    code
}

/// Reports an outcome when the process is about to end. The session is leaked, because releasing its values one by one
/// only takes time.
fn ended(global: &Global, s: Session, out: &Outcome, group: Option<&SharedAgreement>) -> u8 {
    let mut s = std::mem::ManuallyDrop::new(s);
    finish(global, &mut s, out, group)
}

/// Reports an error that concerns a file but has no position in it.
fn unreadable(global: &Global, file: &str, text: &str, hint: Option<&str>) -> u8 {
    let mut err = std::io::stderr().lock();
    let _ = if global.json {
        let hint = hint.map_or("null".into(), render::quote);
        let (message, file) = (render::quote(&format!("{file}: {text}")), render::quote(file));
        writeln!(
            err,
            "{{\"code\":\"E0801\",\"severity\":\"error\",\"message\":{message},\"file\":{file},\"line\":null,\"labels\":[],\"notes\":[],\"hint\":{hint},\"fix\":[],\"stack\":[]}}"
        )
    } else {
        let hint = hint.map_or(String::new(), |h| format!("\n  = help: {h}"));
        writeln!(err, "error[E0801]: {file}: {text}{hint}")
    };
    1
}

/// A description of the error from reading or writing a file.
pub fn io_text(e: &std::io::Error) -> String {
    match e.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => e.to_string(),
    }
}

/// Writes a file atomically; the error describes why the old file was kept.
pub fn write(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> Result<(), String> {
    adl_files::write_unless(path, bytes, &adl_interp::interrupted).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => "there is no such directory".to_owned(),
        _ => io_text(&e),
    })
}

/// The contents of a file, or of standard input for the name `-`.
fn read(file: &str) -> std::io::Result<Vec<u8>> {
    if file != "-" {
        return std::fs::read(file);
    }
    if adl_jit::process::was_closed(0) {
        return Err(std::io::Error::other("standard input is closed"));
    }
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn shown(file: &str) -> &str {
    if file == "-" { "<stdin>" } else { file }
}

/// `adl script.adl ARGS…`.
pub fn script(global: &Global, file: &str, args: Vec<String>) -> u8 {
    let group = match group(global) {
        Ok(group) => group,
        Err(code) => return code,
    };
    let text = || read(file).map_err(|e| io_text(&e));
    let found = match &group {
        Some(group) => ranks::read_first(group, file, text),
        None => text(),
    };
    let bytes = match found {
        Ok(b) => b,
        Err(error) => {
            let commands = [
                "check",
                "fmt",
                "test",
                "bench",
                "doc",
                "cost",
                "ir",
                "explain",
                "run",
                "repl",
                "help",
                "version",
                "completions",
                "man",
                "kernel",
                "lsp",
                "notebook",
            ];
            let near = adl_session::docs::nearest(file, commands.into_iter())
                .map(|c| format!("did you mean `adl {c}`? `adl help` lists the commands"));
            return match group {
                Some(group) => ranks::end_without(&group, || unreadable(global, file, &error, near.as_deref())),
                None => unreadable(global, file, &error, near.as_deref()),
            };
        }
    };
    let mut s = batch_of(global, args, group.as_ref());
    let out = s.run_file(shown(file), &bytes);
    ended(global, s, &out, group.as_ref())
}

/// `adl --stdin`.
pub fn stdin(global: &Global, args: Vec<String>) -> u8 {
    script(global, "-", args)
}

/// `adl -e EXPR`: echoes expressions, and the last item if it is a definition.
pub fn expression(global: &Global, text: &str, args: Vec<String>) -> u8 {
    let group = match group(global) {
        Ok(group) => group,
        Err(code) => return code,
    };
    let mut s = batch_of(global, args, group.as_ref());
    let out = s.eval(text);
    for (i, e) in out.echoes.iter().enumerate() {
        if e.name.is_none() || i + 1 == out.echoes.len() && out.ok() {
            s.host().print(&(e.whole() + "\n"));
        }
    }
    ended(global, s, &out, group.as_ref())
}

/// Expands the files of a command line: a directory stands for all .adl files below it.
fn expand(global: &Global, files: &[String]) -> Result<Vec<String>, u8> {
    let mut out = Vec::new();
    for f in files {
        if !Path::new(f).is_dir() {
            out.push(f.clone());
            continue;
        }
        let mut found = Vec::new();
        if let Err(e) = below(Path::new(f), &mut found) {
            return Err(unreadable(global, f, &io_text(&e), None));
        }
        found.sort_unstable();
        out.extend(found.iter().map(|p| p.to_string_lossy().into_owned()));
    }
    Ok(out)
}

fn below(dir: &Path, out: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut todo = vec![dir.to_owned()];
    while let Some(dir) = todo.pop() {
        for e in std::fs::read_dir(dir)? {
            let e = e?;
            let (path, name) = (e.path(), e.file_name());
            let hidden = name.to_string_lossy().starts_with('.') && name != ".";
            // Links to directories are not followed: they may form cycles.
            if e.file_type()?.is_dir() && !hidden && name != "target" {
                todo.push(path);
            } else if path.extension().is_some_and(|x| x == "adl") && path.is_file() {
                out.push(path);
            }
        }
    }
    Ok(())
}

/// Runs a command on each of its files; returns the highest exit code.
fn each(global: &Global, command: &str, files: &[String], mut run: impl FnMut(&str, &[u8]) -> u8) -> u8 {
    if files.is_empty() && !global.stdin {
        return usage(&format!("`adl {command}` needs files"));
    }
    let files = match expand(global, files) {
        Ok(f) if global.stdin => f.into_iter().chain(["-".to_owned()]).collect(),
        Ok(f) => f,
        Err(code) => return code,
    };
    let mut code = 0;
    for f in &files {
        code = code.max(match read(f) {
            Ok(bytes) => run(f, &bytes),
            Err(e) => unreadable(global, f, &io_text(&e), None),
        });
    }
    code
}

/// `adl check FILES…`.
pub fn check(global: &Global, files: &[String]) -> u8 {
    each(global, "check", files, |f, bytes| {
        let mut s = batch(global, Vec::new());
        let diags = s.check_file(shown(f), bytes);
        report(global, &mut s, &diags);
        code_of(&diags)
    })
}

/// `adl check --explain CODE`.
pub fn explain(code: &str) -> u8 {
    let code = code.to_uppercase();
    match adl_syntax::explain(&code)
        .or_else(|| adl_typing::errors::explain(&code))
        .or_else(|| adl_interp::error::explain(&code))
    {
        Some(text) => {
            say(&format!("{code}\n\n{text}\n"));
            0
        }
        None => usage(&format!("unknown code `{code}`")),
    }
}

/// `adl doc FILE`.
fn doc_of_file(global: &Global, file: &str) -> u8 {
    let bytes = match read(file) {
        Ok(bytes) => bytes,
        Err(e) => return unreadable(global, file, &io_text(&e), None),
    };
    let mut s = batch(global, Vec::new());
    match s.doc_file(file, &bytes) {
        Ok(module) => {
            say(&(module.page() + "\n"));
            0
        }
        Err(diags) => {
            report(global, &mut s, &diags);
            code_of(&diags)
        }
    }
}

/// `adl doc [NAME|FILE]`.
pub fn doc(global: &Global, name: Option<&str>) -> u8 {
    if let Some(file) = name.filter(|n| n.ends_with(".adl") || Path::new(n).is_file()) {
        return doc_of_file(global, file);
    }
    let mut engine = session(global, Vec::new());
    let Some(name) = name else {
        let all = engine.complete("");
        all.iter().filter(|c| c.ty != "keyword").for_each(|c| engine.host().print(&format!("{} : {}\n", c.text, c.ty)));
        engine.host().flush();
        return 0;
    };
    match engine.doc(name) {
        Some(text) => {
            say(&(text + "\n"));
            0
        }
        None => {
            let near = engine.nearest(name).map_or(String::new(), |n| format!("; did you mean `{n}`?"));
            let _ = writeln!(std::io::stderr(), "error: unknown name `{name}`{near}");
            1
        }
    }
}
