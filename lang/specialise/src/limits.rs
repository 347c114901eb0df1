//! The limits of specialisation, one module for each file that uses them. Beyond one of them a function is not
//! specialised, and the reason is reported: each bounds time and memory where code could grow without end.
//! A figure without a time or a count beside it has no measurement on record.

/// Limits of `call`.
pub(crate) mod call {
    /// The limit of concurrent specialisations of one code, whose arguments have different layouts each time.
    pub const DEEPEST: usize = 100;
}

/// Limits of `defunctionalise`.
pub(crate) mod defunctionalise {
    /// The limit of codes of one function type.
    pub const MAX_CODES: usize = 200;
}

/// Limits of `eval`.
pub(crate) mod eval {
    /// The size limit of an expression that is copied to become code of its own. (Copying is recursive.)
    pub const MAX_COPY_SIZE: usize = 4000;
    /// The limit of IR variables for one value.
    pub const MAX_LEAVES: usize = 4000;
}

/// Limits of `info`.
pub(crate) mod info {
    /// The size limit of code that may be inlined.
    pub const SMALL: usize = 40;
    /// The nesting depth to which called functions are examined.
    pub const MAX_CALL_DEPTH: u32 = 4;
}

/// Limits of `inputs`.
pub(crate) mod inputs {
    /// The nesting depth of captured functions that is followed.
    pub const DEEPEST: usize = 64;
}

/// Limits of `key`.
pub(crate) mod key {
    /// The limit of a key's length. Without it, functions that nest deeper at each call would not terminate.
    pub const MAX_KEY_LENGTH: usize = 4000;
}

/// Limits of an entry.
pub(crate) mod entry {
    /// How often an entry is specialised until all functions inside data are known.
    pub const ATTEMPTS: usize = 16;
}

/// Limits of `types`.
pub(crate) mod types {
    /// The limit of declared type instances in one entry: nested types that grow at each level have infinitely many.
    pub const MAX_DATA_INSTANCES: usize = 200;
    /// The size limit of a declared type's arguments.
    pub const MAX_ARGUMENT_SIZE: usize = 2000;
}
