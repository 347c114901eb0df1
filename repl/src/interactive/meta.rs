//! `:commands`.

use super::{Repl, cut_entry, inspect, plans, undo};
use crate::commands::{io_text, measure, report};
use adl_interp::value::digits;
use adl_session::benches::Effort;
use adl_session::docs::nearest;
use std::io::IsTerminal;
use std::time::Instant;

/// A command of the REPL.
pub struct Command {
    /// `:type`.
    pub name: &'static str,
    /// Its arguments as usage shows them; empty if it has none. Optional ones are in brackets.
    takes: &'static str,
    /// A description in one line.
    pub what: &'static str,
    run: fn(&mut Repl, &str) -> bool,
}

/// The table of commands, used for running, help and completion.
pub const COMMANDS: &[Command] = &[
    Command {
        name: ":help",
        takes: "[TOPIC]",
        what: "help: a command, a name, a module, `keys` or `language`",
        run: help,
    },
    Command { name: ":type", takes: "EXPR", what: "the type of an expression, which is not run", run: type_of },
    Command { name: ":doc", takes: "NAME", what: "documentation of a name or module", run: doc },
    Command { name: ":source", takes: "NAME", what: "the source of a definition", run: source },
    Command {
        name: ":env",
        takes: "",
        what: "your definitions with their types and sizes in memory",
        run: inspect::env,
    },
    Command {
        name: ":info",
        takes: "NAME",
        what: "what a name is, where it comes from, and its documentation; so do `?NAME` and `NAME?`",
        run: inspect::info,
    },
    Command {
        name: ":show",
        takes: "EXPR",
        what: "a whole value, in a pager ($PAGER) where it is longer than the screen",
        run: inspect::show,
    },
    Command { name: ":load", takes: "FILE", what: "run a file; what it defines stays in scope", run: load },
    Command {
        name: ":reload",
        takes: "",
        what: "run what changed in the loaded files, and what depends on it",
        run: reload,
    },
    Command {
        name: ":watch",
        takes: "FILE",
        what: "load a file, and again whenever it is written, until Ctrl-C",
        run: undo::watch,
    },
    Command { name: ":undo", takes: "", what: "take back the last entry that defined something", run: undo::undo },
    Command {
        name: ":snapshot",
        takes: "[NAME]",
        what: "keep all definitions under a name; without one, list the names",
        run: undo::snapshot,
    },
    Command { name: ":restore", takes: "NAME", what: "go back to a snapshot", run: undo::restore },
    Command {
        name: ":save",
        takes: "[FILE]",
        what: "write the entries as a program to a file; without one, the plan as code",
        run: undo::save,
    },
    Command {
        name: ":edit",
        takes: "[NAME]",
        what: "edit the last entry (or a definition) in $EDITOR, then run it",
        run: edit,
    },
    Command {
        name: ":time",
        takes: "EXPR",
        what: "how long an expression takes: at first, and the median and spread of more runs",
        run: time,
    },
    Command {
        name: ":cost",
        takes: "F X",
        what: "work of a function and of its derivatives by source line",
        run: plans::cost,
    },
    Command {
        name: ":residuals",
        takes: "[F X]",
        what: "what the reverse pass of a function reads, and what each plan takes",
        run: plans::residuals,
    },
    Command { name: ":store", takes: "IDS", what: "store these residuals", run: plans::store },
    Command { name: ":recompute", takes: "IDS", what: "recompute these residuals", run: plans::recompute },
    Command {
        name: ":plan",
        takes: "PLAN",
        what: "another plan for the function: store_all, recompute_all, auto, budget N, sqrt, revolve N",
        run: plans::plan,
    },
    Command {
        name: ":apply",
        takes: "",
        what: "the plan for all gradients of the function from now on",
        run: plans::apply,
    },
    Command {
        name: ":ir",
        takes: "STAGE F",
        what: "a function as core, spec, jvp, unzip, transpose, opt, clif or asm",
        run: plans::ir,
    },
    Command { name: ":explain", takes: "", what: "how the last entry's derivatives were computed", run: explain },
    Command {
        name: ":device",
        takes: "[DEVICE]",
        what: "where functions on large arrays run: cpu, gpu, auto; without one, what is used and what it did",
        run: device,
    },
    Command {
        name: ":set",
        takes: "[KEY VALUE]",
        what: "settings: digits, width, color, live, keys, stack, ad, jit, check_nan, threads; without one, their values",
        run: set,
    },
    Command { name: ":clear", takes: "", what: "clear the screen", run: clear },
    Command { name: ":reset", takes: "", what: "forget every definition", run: reset },
    Command { name: ":quit", takes: "", what: "leave (so does Ctrl-D)", run: quit },
];

const KEYS: &str = "\
Enter        runs a complete entry, else begins an indented line; an empty line ends a block
Alt-Enter    begins a new line in any case
Tab          completes names, fields, types, modules, files in strings; \\alpha<Tab> is α
Right, End   takes the hint from the history
Up, Down     earlier and later entries that begin like the text before the cursor
Ctrl-R       a menu of entries: type words, choose with Up and Down, take with Enter
Ctrl-C       clears the entry; stops what runs
Ctrl-D       leaves";

const LANGUAGE: &str = "\
let f x = x * x                  a function; `let rec` for recursion
[1.0, 2.0] + 1.0                 arrays act elementwise, numbers spread
{w = [1.0], b = 0.5}.w           records
for i < 3, j < 3 -> i * j        comprehensions; `sum for x in xs -> ...`
loop x = 1.0 for i < 10 do ...   loops are values
type T = A Float | B             data; match t with | A x -> x | B -> 0.0
grad f x   jvp f x v   hessian f x   transpose (lin x -> ...)
import \"file.adl\" as M           M.f; standard modules are always there: optim. stats. ...";

/// Runs a command line. Returns whether the session continues.
pub fn run(repl: &mut Repl, line: &str) -> bool {
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let name = match name {
        ":t" => ":type",
        ":r" => ":reload",
        ":h" | ":?" => ":help",
        ":i" => ":info",
        ":e" => ":edit",
        n => n,
    };
    let fits: Vec<&Command> = COMMANDS.iter().filter(|c| c.name.starts_with(name)).collect();
    let command = match (COMMANDS.iter().find(|c| c.name == name), fits.as_slice()) {
        (Some(c), _) => c,
        (None, [only]) if name.len() > 1 => only,
        (None, []) => {
            let near = || {
                nearest(name, COMMANDS.iter().map(|c| c.name))
                    .map_or("`:help` lists them".to_owned(), |n| format!("did you mean `{n}`?"))
            };
            let near = adl_kernel::foreign::command(&name[1..]).map_or_else(near, str::to_owned);
            repl.complain(&format!("unknown command `{name}`; {near}"));
            return true;
        }
        (None, many) => {
            if name == ":" {
                repl.complain("the name of a command is missing; `:help` lists them");
                return true;
            }
            let names: Vec<String> = many.iter().map(|c| format!("`{}`", c.name)).collect();
            repl.complain(&format!("`{name}` may be {}", names.join(" or ")));
            return true;
        }
    };
    let wrong = match command.takes {
        "" => !rest.is_empty(),
        t => !t.starts_with('[') && rest.is_empty(),
    };
    if wrong {
        repl.complain(&format!("usage: {}", usage(command)));
        return true;
    }
    (command.run)(repl, rest)
}

fn usage(c: &Command) -> String {
    format!("{} {}", c.name, c.takes).trim_end().to_owned()
}

fn help(repl: &mut Repl, topic: &str) -> bool {
    let command = COMMANDS
        .iter()
        .find(|c| c.name == topic || &c.name[1..] == topic && repl.session.borrow_mut().doc(topic).is_none());
    match (topic, command) {
        ("", _) => {
            for c in COMMANDS {
                repl.say_wrapped(&format!("{:18} {}", usage(c), c.what), 19);
            }
            repl.say_wrapped("Anything else is an item of the language: a definition, a type, an expression. A `;` behind it mutes its echo. `it` is the last value, `it1` and `it2` are those before.", 0);
        }
        ("keys", _) => repl.say(KEYS),
        ("language" | "syntax", _) => repl.say(LANGUAGE),
        (_, Some(c)) => repl.say_wrapped(&format!("{}\n{}", usage(c), c.what), 0),
        _ => return doc(repl, topic),
    }
    true
}

fn type_of(repl: &mut Repl, text: &str) -> bool {
    let found = repl.session.borrow_mut().type_of(text);
    match found {
        Ok(t) => {
            repl.say(&format!("{text} : {t}"));
            let shapes = repl.session.borrow_mut().shapes(text);
            shapes.iter().for_each(|t| repl.say(&format!("  as in {t}")));
        }
        Err(diags) => {
            repl.failed += 1;
            report(&repl.global, &mut repl.session.borrow_mut(), &diags);
        }
    }
    true
}

pub(super) fn doc(repl: &mut Repl, name: &str) -> bool {
    let found = repl.session.borrow_mut().doc(name);
    match found {
        Some(text) => repl.say_wrapped(&text, 0),
        None => match adl_kernel::latex_symbols::named(name) {
            Some(letter) => repl.say(&format!("{name} is typed \\{letter}<Tab>")),
            None => unknown(repl, name, "unknown name"),
        },
    }
    true
}

pub(super) fn unknown(repl: &mut Repl, name: &str, what: &str) {
    let near = repl.session.borrow_mut().nearest(name);
    repl.complain(&format!("{what} `{name}`{}", near.map_or(String::new(), |n| format!("; did you mean `{n}`?"))));
}

fn source(repl: &mut Repl, name: &str) -> bool {
    let (found, known) = {
        let mut s = repl.session.borrow_mut();
        // Looking up the documentation loads the module that defines the name.
        let known = s.doc(name).is_some();
        (s.source_of(name), known)
    };
    match found {
        Some(text) => repl.say(&text),
        None if known => repl.complain(&format!("`{name}` has no source in adl")),
        None => unknown(repl, name, "unknown name"),
    }
    true
}

fn load(repl: &mut Repl, file: &str) -> bool {
    // Quotes are accepted, as after `import`.
    load_one(repl, file.trim_matches('"'), false);
    true
}

pub(super) fn load_one(repl: &mut Repl, file: &str, again: bool) {
    match std::fs::read(file) {
        Ok(bytes) => {
            let (out, counts) = repl.session.borrow_mut().load_file(file, &bytes);
            repl.show(&out);
            if out.ok() {
                let items = |n: usize| format!("{n} item{}", if n == 1 { "" } else { "s" });
                let kept = if again { format!(", {} kept", counts.kept) } else { String::new() };
                repl.say(&format!("{file}: {} ran{kept}", items(counts.ran)));
            }
        }
        Err(e) => repl.complain(&format!("{file}: {}", io_text(&e))),
    }
}

fn reload(repl: &mut Repl, _: &str) -> bool {
    let files = repl.session.borrow().loaded_files();
    if files.is_empty() {
        repl.complain("no file is loaded: `:load FILE`");
    }
    files.iter().for_each(|f| load_one(repl, f, true));
    true
}

/// Edits an entry in the user's editor.
fn edit(repl: &mut Repl, name: &str) -> bool {
    if repl.notebook {
        repl.complain("a notebook is its own editor: `:source NAME` shows a definition");
        return true;
    }
    let text = {
        let s = repl.session.borrow();
        if name.is_empty() {
            Some(s.history.last().map(|e| e.text.clone()).unwrap_or_default())
        } else {
            s.source_of(name)
        }
    };
    let Some(text) = text else {
        unknown(repl, name, "nothing of yours is named");
        return true;
    };
    let named = |variable: &str| std::env::var(variable).ok().filter(|v| !v.trim().is_empty());
    let Some(editor) =
        named("VISUAL").or_else(|| named("EDITOR")).or_else(|| std::io::stdin().is_terminal().then(|| "vi".into()))
    else {
        repl.complain("an editor needs a terminal; `:source NAME` shows a definition");
        return true;
    };
    let path = std::env::temp_dir().join(format!("adl-{}.adl", std::process::id()));
    // `EDITOR="code --wait"` is a command with arguments.
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let edited = adl_files::write(&path, text.trim_end().to_owned() + "\n")
        .and_then(|()| std::process::Command::new(program).args(words).arg(&path).status())
        .and_then(|status| Ok((status.success(), std::fs::read_to_string(&path)?)));
    let _ = std::fs::remove_file(&path);
    match edited {
        Ok((false, _)) => repl.complain(&format!("{editor} failed, so nothing was run")),
        Ok((true, new)) if new.trim().is_empty() => {}
        Ok((true, new)) => {
            repl.say(&cut_entry(new.trim_end()));
            repl.eval(new.trim_end());
        }
        Err(e) => repl.complain(&format!("{editor}: {}", io_text(&e))),
    }
    true
}

/// Slower evaluations are not repeated.
const REPEATED: f64 = 1.0;

/// `:time e`: the time of the first evaluation, and the median and spread of further ones, whose output is discarded.
fn time(repl: &mut Repl, text: &str) -> bool {
    let failed = repl.failed;
    let start = Instant::now();
    repl.eval(text);
    let first = start.elapsed().as_secs_f64();
    if repl.failed != failed || repl.interrupted {
        return true;
    }
    let mut line = measure::duration(first);
    if first < REPEATED {
        let again = repl.session.borrow_mut().time_again(text, Effort::SHORT);
        if let Some(t) = again {
            let (low, high) = (measure::duration(t.quartiles.0), measure::duration(t.quartiles.1));
            line += &format!(
                "; again median {}, middle half {low} - {high}, {} runs",
                measure::duration(t.median),
                t.iterations
            );
        }
    }
    repl.say(&line);
    true
}

fn explain(repl: &mut Repl, _: &str) -> bool {
    let lines = repl.session.borrow().explained();
    match lines.is_empty() {
        true => repl.say("the last entry computed no derivative"),
        false => lines.iter().for_each(|l| repl.say(l)),
    }
    true
}

fn device(repl: &mut Repl, rest: &str) -> bool {
    if !rest.is_empty() {
        if !["cpu", "gpu", "auto"].contains(&rest) {
            repl.complain("usage: :device cpu|gpu|auto");
            return true;
        }
        let set = repl.session.borrow_mut().set_device(rest);
        match set {
            Ok(()) => repl.global.device = rest.to_owned(),
            Err(d) => {
                let hint = d.hint.as_ref().map_or(String::new(), |h| format!("\n  = help: {h}"));
                repl.complain(&format!("{}{hint}", d.message));
                return true;
            }
        }
    }
    let lines = repl.session.borrow().device_lines();
    lines.iter().for_each(|l| repl.say(l));
    true
}

const SETTINGS: &str = "usage: :set digits N, :set width COLUMNS, :set color on|off, :set live on|off, :set keys emacs|vi, :set stack MIB|short|full, :set ad compiled|taped, :set jit on|off, :set check_nan on|off, :set threads N";

fn set(repl: &mut Repl, rest: &str) -> bool {
    let (key, value) = rest.split_once(char::is_whitespace).map_or((rest, ""), |(k, v)| (k, v.trim()));
    if rest.is_empty() {
        settings(repl);
    } else if set_display(repl, key, value).or_else(|| set_engine(repl, key, value)).is_none() {
        repl.complain(SETTINGS);
    }
    true
}

fn on(value: &str) -> Option<bool> {
    match value {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

fn positive(value: &str) -> Option<usize> {
    value.parse().ok().filter(|n| *n > 0)
}

/// Settings of display and keys; `None` if the key is another one or does not have this value.
fn set_display(repl: &mut Repl, key: &str, value: &str) -> Option<()> {
    match key {
        "digits" => digits::set_digits(positive(value).filter(|n| *n <= digits::EXACT)?),
        "width" => repl.width = Some(positive(value)?),
        "live" => repl.live.set(on(value)?),
        "color" => {
            let on = on(value)?;
            repl.color.set(on);
            repl.global.color = if on { "always" } else { "never" }.into();
        }
        "keys" if ["emacs", "vi"].contains(&value) => repl.vi = value == "vi",
        "stack" if ["short", "full"].contains(&value) => repl.global.full_stack = value == "full",
        _ => return None,
    }
    Some(())
}

/// Settings of execution.
fn set_engine(repl: &mut Repl, key: &str, value: &str) -> Option<()> {
    match key {
        "stack" => {
            repl.global.stack = u32::try_from(positive(value)?).ok()?;
            repl.session.borrow_mut().set_stack(repl.global.stack as usize * (1 << 20));
        }
        "ad" if ["compiled", "taped"].contains(&value) => {
            repl.session.borrow_mut().set_compiled_ad(value == "compiled");
            repl.global.ad = value.into();
        }
        "jit" => {
            repl.global.no_jit = !on(value)?;
            engines(repl);
        }
        "check_nan" => {
            repl.global.check_nan = on(value)?;
            engines(repl);
        }
        "threads" => {
            repl.global.threads = value.parse().ok().filter(|n| *n <= 1024)?;
            repl.session.borrow_mut().set_threads(repl.global.threads as usize);
        }
        _ => return None,
    }
    Some(())
}

fn settings(repl: &mut Repl) {
    let on = |b: bool| if b { "on" } else { "off" }.to_owned();
    let width = repl.screen().map_or("one line".to_owned(), |w| w.to_string());
    let threads = if repl.global.threads == 0 { "all".to_owned() } else { repl.global.threads.to_string() };
    let frames = if repl.global.full_stack { "full" } else { "short" };
    let lines = [
        ("digits", digits::digits().to_string()),
        ("width", width),
        ("color", on(repl.color.get())),
        ("live", on(repl.live.get())),
        ("keys", if repl.vi { "vi" } else { "emacs" }.to_owned()),
        ("stack", format!("{} {frames}", repl.global.stack)),
        ("ad", repl.global.ad.clone()),
        ("jit", on(!repl.global.no_jit)),
        ("check_nan", on(repl.global.check_nan)),
        ("threads", threads),
    ];
    lines.iter().for_each(|(key, value)| repl.say(&format!("{key} {value}")));
}

/// Reports whether code runs natively: not if that is off or if every operation is checked.
fn engines(repl: &Repl) {
    let mut s = repl.session.borrow_mut();
    s.set_jit(!repl.global.no_jit);
    s.set_check_nan(repl.global.check_nan);
}

fn clear(repl: &mut Repl, _: &str) -> bool {
    if repl.terminal {
        repl.session.borrow_mut().host().print("\x1b[2J\x1b[H");
    }
    true
}

fn reset(repl: &mut Repl, _: &str) -> bool {
    let new = (repl.fresh)(&repl.global);
    *repl.session.borrow_mut() = new;
    true
}

fn quit(repl: &mut Repl, _: &str) -> bool {
    if repl.notebook {
        repl.complain("a kernel is shut down from the front end's menu");
    }
    false
}
