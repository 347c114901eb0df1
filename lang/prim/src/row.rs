//! The columns of the table of primitives.

/// How a primitive is typed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Typing {
    /// An ordinary type scheme, in adl's own syntax: `"Num a => [n]a -> a"`.
    Scheme(&'static str),
    /// The scalar type scheme of an elementwise function (`"Real a => a -> a"`). On arrays the function acts on each
    /// element, and scalars are broadcast.
    Elementwise(&'static str),
    /// The type checker has a special rule. The text is for documentation, and for uses with fewer arguments than the
    /// arity.
    Special(&'static str),
}

/// The arguments in which a primitive is (jointly) linear; the others must not depend on the linear variable.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Linearity {
    /// Linear in no argument.
    None,
    /// Linear in all arguments jointly (`+`, `zip`, `concat`).
    Joint,
    /// Linear in the listed arguments only (`take n xs`: 1).
    In(&'static [u8]),
    /// Linear in each of its two arguments while the other is fixed (`*`, `@`, `dot`).
    Bilinear,
    /// A higher-order function (`map f xs`): linear in the data if the function is linear.
    Mapped,
    /// Combines a state with each element (`reduce op e xs`). Linear if the function is linear in the state, or in the
    /// state and the elements jointly.
    Folded(Fold),
}

/// The arguments of a primitive that combines a state with each element.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fold {
    /// The index of the function.
    pub function: u8,
    /// The indices of the initial states.
    pub states: &'static [u8],
    /// The index of the elements.
    pub elements: u8,
    /// Whether the function takes the element before the state.
    pub element_first: bool,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The user's name for it.
    pub name: &'static str,
    /// Its type.
    pub typing: Typing,
    /// Number of arguments of a full application.
    pub arity: u8,
    /// Its linearity.
    pub linearity: Linearity,
    /// Markdown: one to three sentences; shapes, errors, and the derivative if it is not obvious.
    pub doc: &'static str,
    /// `>>>` examples, as `expression => echo`. They run as tests.
    pub examples: &'static [&'static str],
    /// Whether it is a name of the language. The others are made by derivatives.
    pub named: bool,
}
