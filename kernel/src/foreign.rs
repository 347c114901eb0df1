//! What commands of other shells are called here: those of `GHCi`, `IPython`, Julia and OCaml, and of the system.

use crate::suggest::CommandName;

/// Commands of others, by words, and what to write for them.
pub const THEIRS: &[(&str, &str)] = &[
    ("exit quit bye x wq q! leave logout", "`:quit` or Ctrl-D leaves"),
    ("who whos who_ls vars variables bindings workspace", "`:env` lists your definitions"),
    (
        "browse bro browse! names methods methodswith varinfo",
        "`:doc MODULE` lists what a module has, and `:env` your definitions",
    ),
    (
        "timeit time btime elapsed timed allocated benchmark bench",
        "`:time EXPR` measures an expression, and `bench \"name\" = EXPR` a program's",
    ),
    (
        "prun lprun memit mprun profile prof profview",
        "`:cost F X` counts work by source line, and `:time EXPR` measures",
    ),
    ("run main script include use mod_use require load l cmd", "`:load FILE` runs a file"),
    ("autoreload load_ext reload_ext revise", "`:watch FILE` loads a file whenever it is written"),
    ("kind kind! k instances in", "types have no kinds: `:info NAME` shows how a type was declared"),
    ("typeof code_typed code_warntype show_type ty", "`:type EXPR` shows a type"),
    ("pinfo pinfo2 pdoc pdef show_val lookfor apropos hoogle", "`:doc NAME` or `?NAME` explains a name"),
    ("psource pfile which less list list_source", "`:source NAME` shows a definition"),
    ("print p pp sprint force show head", "an expression shows its value, and `:show EXPR` all of it"),
    ("history hist recall rerun", "Ctrl-R searches earlier entries, and `:save FILE` writes them as a program"),
    (
        "store pickle logstart notebook",
        "`:save FILE` writes the entries as a program, and `:snapshot` keeps definitions",
    ),
    (
        "clear_all reset_selective xdel clc restart forget",
        "`:reset` forgets every definition, and `:undo` takes back the last",
    ),
    (
        "code_native code_llvm code_lowered disassemble asm dis ast core dcore",
        "`:ir STAGE F` shows a function at a stage, as in `:ir asm F`",
    ),
    (
        "debug pdb break step steplocal trace untrace abandon continue back forward enter infiltrate",
        "there is no debugger: an error shows its stack, and `:set check_nan on` finds where a nan began",
    ),
    ("matplotlib pylab gr plotly", "plots need no set-up: `plot.line xs ys`"),
    (
        "add rm pip conda install uninstall st status up update activate instantiate develop dev pkg add_pkg cabal opam",
        "there are no packages: standard modules are always there, and `import \"file.adl\" as M` reads a file",
    ),
    (
        "m module using unadd add_module",
        "standard modules are always there, and `import \"file.adl\" as M` reads a file",
    ),
    (
        "cd pwd ls ll dir cat cp mv mkdir rmdir git sh bash shell system sx sc directory python pip3 vim nano",
        "the REPL has no shell: `:load FILE`, `read_text` and `read_csv` take paths",
    ),
    ("paste cpaste { +m set_paste", "a pasted text runs as it is, and lines of one entry are joined"),
    ("def macro alias rehashx magic lsmagic quickref commands guide colors", "`:help` lists the commands"),
    ("set_prompt prompt config xmode precision", "`:set` lists the settings"),
];

/// What adl has for a command of another shell, which is given without its sign.
pub fn command(word: &str) -> Option<&'static str> {
    THEIRS.iter().find(|(words, _)| words.split(' ').any(|w| w == word)).map(|(_, ours)| *ours)
}

/// The same for an entry in the form of another shell: `%timeit f x`, `]add Plots`, `;ls`, `!ls`, `#use "a.ml"`, `@time f x`.
pub fn entry(text: &str, commands: &[CommandName]) -> Option<String> {
    let text = text.trim();
    let sign = text.chars().next().filter(|c| "%];!#@".contains(*c))?;
    let word = text.trim_start_matches(sign).split(|c: char| c.is_whitespace() || c == '(').next().unwrap_or("");
    let own = commands.iter().find(|c| c.0[1..] == *word).map(|c| format!("the command is `{}`: {}", c.0, c.1));
    let theirs = own.or_else(|| command(word).map(str::to_owned));
    let letters = word.starts_with(char::is_alphabetic);
    theirs.or_else(|| (sign == '%' && letters).then(|| "commands begin with a colon: `:help` lists them".to_owned()))
}
