//! Input and output: each has an effect, runs once and in order.

use super::{Linearity as L, Row, family, scheme, special};

family! {
    /// A function with an effect.
    IoFn {
        Print "print": scheme("Show a => a -> ()", 1, L::None), "Writes a value and a line break.", [];
        Warn "__warn": scheme("Show a => a -> ()", 1, L::None), "Writes a value and a line break to standard error.", [];
        Display "__display": scheme("Show a => String -> a -> ()", 2, L::None), "`slot value`: shows a value as a result is shown.",
        [];
        Input "__input": scheme("String -> String", 1, L::None), "`prompt`: the line that is typed.", [];
        Args "args": scheme("() -> [_]String", 1, L::None), "The arguments of the command line.", [];
        Env "env": scheme("String -> Option String", 1, L::None), "An environment variable.", [];
        Time "time": scheme("() -> Float", 1, L::None), "Seconds since some moment; for differences.", [];
        ReadCsv "read_csv": special("Data a => String -> a", 1, L::None),
        "A CSV file as a record of columns. With a literal path the header gives the record's type when the program \
         is checked; otherwise annotate it. Missing numbers are `nan`. Names that are no identifiers have other \
         characters replaced by `_`.",
        [];
        WriteCsv "write_csv": scheme("Data a => String -> a -> ()", 2, L::None), "Writes a record of columns.", [];
        ReadParquet "read_parquet": special("Data a => String -> a", 1, L::None),
        "A Parquet file as a record of columns. With a literal path the file gives the record's type when the program is \
         checked; otherwise annotate it. Missing numbers are `nan` as Floats and `None` as Options.",
        [];
        WriteParquet "write_parquet": scheme("Data a => String -> a -> ()", 2, L::None),
        "Writes a record of columns as a Parquet file, compressed by Snappy.",
        [];
        ReadArrow "read_arrow": special("Data a => String -> a", 1, L::None),
        "An Arrow IPC file (Feather) as a record of columns, typed as `read_parquet` does.",
        [];
        WriteArrow "write_arrow": scheme("Data a => String -> a -> ()", 2, L::None),
        "Writes a record of columns as an Arrow IPC file (Feather), uncompressed.",
        [];
        OpenRows "__rows_open": special("Data a => String -> Rows a", 1, L::None),
        "The rows of a Parquet, Arrow IPC, CSV or NPY file, or of a directory of them, which are read when they are needed.",
        [];
        ReadNpy "read_npy": special("Data a => String -> a", 1, L::None), "An NPY array (or an NPZ archive as a record of arrays).",
        [];
        WriteNpy "write_npy": scheme("Data a => String -> a -> ()", 2, L::None),
        "Writes an NPY array (or a record of arrays as NPZ).",
        [];
        ReadJson "read_json": scheme("Data a => String -> a", 1, L::None), "A JSON file, read as the expected type (annotate it).",
        [];
        WriteJson "write_json": scheme("Data a => String -> a -> ()", 2, L::None), "Writes a value as JSON.", [];
        ReadText "read_text": scheme("String -> String", 1, L::None), "A whole file as text.", [];
        WriteText "write_text": scheme("String -> String -> ()", 2, L::None), "`write_text path text`.", [];
        PlotSave "__plot_save": scheme("String -> a -> ()", 2, L::None), "Writes a picture.", [];
        PlotShow "__plot_show": scheme("Bool -> a -> ()", 2, L::None),
        "Shows a picture; in place of the last where the first argument is true.",
        [];
        PlotWatch "__plot_watch": scheme("String -> Float -> ()", 2, L::None), "A number of a live curve.", [];
    }
}

impl IoFn {
    /// Whether it reads a file whose type the file itself tells, so that a literal path needs no annotation.
    pub fn reads_typed(self) -> bool {
        matches!(self, IoFn::ReadCsv | IoFn::ReadParquet | IoFn::ReadArrow | IoFn::ReadNpy | IoFn::OpenRows)
    }
}
