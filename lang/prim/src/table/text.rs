//! Texts.

use super::{Linearity as L, Row, family, scheme};

family! {
    /// A function of texts.
    TextFn {
        Show "show": scheme("Show a => a -> String", 1, L::None), "A value as text.",
        ["show [1.0, 2.0] => \"[1.0, 2.0]\" : String"];
        StrLen "__str_len": scheme("String -> Int", 1, L::None), "Number of characters.", [];
        StrSlice "__str_slice": scheme("Int -> Int -> String -> String", 3, L::None), "Characters a to b - 1.", [];
        StrSplit "__str_split": scheme("String -> String -> [_]String", 2, L::None), "`separator text`.", [];
        StrJoin "__str_join": scheme("String -> [n]String -> String", 2, L::None), "`separator parts`.", [];
        StrTrim "__str_trim": scheme("String -> String", 1, L::None), "Without white space at the ends.", [];
        StrFind "__str_find": scheme("String -> String -> Int", 2, L::None), "`part text`: character index, or -1.", [];
        StrReplace "__str_replace": scheme("String -> String -> String -> String", 3, L::None), "`old new text`.", [];
        StrUpper "__str_upper": scheme("String -> String", 1, L::None), "Upper case.", [];
        StrLower "__str_lower": scheme("String -> String", 1, L::None), "Lower case.", [];
        ParseFloat "__parse_float": scheme("String -> [_]Float", 1, L::None), "One element, or none.", [];
        ParseInt "__parse_int": scheme("String -> [_]Int", 1, L::None), "One element, or none.", [];
    }
}
