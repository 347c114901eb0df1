// The grammar of adl. Blocks are delimited by the scanner (src/scanner.c), which knows the columns.
// Operators and their precedences are those of lang/syntax/src/parser/expressions.rs.

const sep = (one, by) => seq(one, repeat(seq(by, one)));
const commas = (one) => optional(seq(sep(one, ","), optional(",")));

const NAME = /[\p{Ll}\p{Lo}\p{Lm}_∂∇][_'\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}∂∇₀-₉]*/;
const UPPER = /[\p{Lu}\p{Lt}][_'\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}∂∇₀-₉]*/;
const ESCAPE = /\\([ntr0e\\"'{}]|x[0-9a-fA-F]{2}|u\{[0-9a-fA-F]{1,6}\}|\r?\n[ \t]*)/;

const BINARY = [
  ["right", 1, ["<|"]],
  ["left", 2, ["|>"]],
  ["left", 3, [">>"]],
  ["left", 4, ["||", ".||"]],
  ["left", 5, ["&&", ".&&"]],
  ["left", 6, ["==", "!=", "<", ">", "<=", ">=", ".==", ".!=", ".<", ".>", ".<=", ".>="]],
  ["right", 7, ["::"]],
  ["right", 8, ["++"]],
  ["left", 9, ["+", "-"]],
  ["left", 10, ["*", "/", "//", "%", "@"]],
  ["right", 13, ["^"]],
];

module.exports = grammar({
  name: "adl",

  externals: ($) => [
    $._line, $._open, $._open_value, $._open_then, $._open_arm, $._open_init, $._open_let, $._sep, $._item_sep, $._close,
    $._arm_bar, $._or_bar, "(", ")", $._array_open, $._index_open, "]", "{", "}", "[|", "|]",
    "if", "then", "else", "match", "with", "for", $._loop_for, "loop", "do", "let", "and", $._and_type, "in", $._eq, $._for_arrow, $._arm_arrow,
    $._text, $._interpolated_text, $._error_sentinel,
  ],

  extras: ($) => [/[ \t\r\n]/, $._line, $.comment, $.block_comment, $.documentation],

  word: ($) => $.identifier,

  conflicts: ($) => [],

  rules: {
    program: ($) => seq(optional($.shebang), optional($._item_sep), repeat(";;"), optional(seq($._item, repeat(seq($._items, $._item)), repeat(";;")))),
    shebang: () => token(prec(2, /#![^\n]*/)),
    _items: ($) => choice($._item_sep, seq(repeat1(";;"), optional($._item_sep))),
    _item: ($) => choice($.definition, $.declaration, $.import, $.test, $.bench, $.expression_item),
    expression_item: ($) => seq(sep($._expr, ";"), optional(";")),

    definition: ($) => seq("let", optional("rec"), sep($.binding, "and"), optional(seq("in", $._block)), optional(";")),
    binding: ($) =>
      seq(choice(seq(field("name", $.identifier), repeat1($._pattern_atom)), field("pattern", $._pattern_commas)),
        optional(seq(":", $.signature)), $._eq, field("value", $._value)),
    _value: ($) => seq($._open_value, $._entries, $._close),
    _block: ($) => seq($._open, $._entries, $._close),
    _entries: ($) =>
      seq(repeat(choice(seq($.local_definition, choice($._separator, seq("in", optional($._sep)))), seq($._expr, $._separator))),
        $._expr, optional(";")),
    _separator: ($) => choice($._sep, seq(";", optional($._sep))),
    local_definition: ($) => seq("let", optional("rec"), sep($.binding, "and")),

    declaration: ($) => seq("type", sep($.type_declaration, $._and_type)),
    type_declaration: ($) =>
      choice(seq("alias", field("name", $.constructor), repeat($.type_variable), "=", $._type),
        seq(field("name", $.constructor), repeat($.type_variable), "=", optional("|"), sep($.constructor_declaration, "|"))),
    constructor_declaration: ($) => seq(field("name", $.constructor), repeat($._type_atom)),
    import: ($) => seq("import", choice($.string, $.identifier), optional(seq("as", $.constructor))),
    test: ($) => prec(1, seq("test", field("name", $.string), "=", $._block)),
    bench: ($) => prec(1, seq("bench", field("name", $.string), "=", $._block)),

    // Expressions.
    _expr: ($) => choice($.binary, $.negation, $._keyword_expr, $.let_expression, $.application, $._postfix),
    binary: ($) =>
      choice(...BINARY.map(([side, power, ops]) =>
        prec[side](power, seq(field("left", $._expr), field("operator", choice(...ops)), field("right", $._expr))))),
    negation: ($) => prec(12, seq("-", $._expr)),
    let_expression: ($) => seq($._open_let, $._entries, $._close),
    application: ($) =>
      prec.right(14, seq(field("function", $._postfix), choice(seq(repeat1(field("argument", $._postfix)), optional(field("argument", $._keyword_expr))), field("argument", $._keyword_expr)))),
    _keyword_expr: ($) => choice($.function, $.linear_function, $.conditional, $.match, $.comprehension, $.loop),
    function: ($) => seq("fun", repeat1($._pattern_atom), "->", $._block),
    linear_function: ($) => seq("lin", $._pattern_atom, "->", $._block),
    conditional: ($) => prec.right(seq("if", $._expr, "then", $._open_then, $._entries, $._close, optional(seq("else", $._block)))),
    match: ($) => prec.right(seq("match", sep($._expr, ","), "with", repeat1($.arm))),
    arm: ($) => seq($._arm_bar, $._pattern_commas, optional(seq("when", $._expr)), $._arm_arrow, $._open_arm, $._entries, $._close),
    comprehension: ($) => seq("for", sep(choice($.index_variable, $.elements), ","), $._for_arrow, $._block),
    index_variable: ($) => seq(choice($.identifier, "_"), optional(seq("<", $._bound))),
    _bound: ($) => prec(7, $._expr),
    elements: ($) => seq(field("pattern", $._pattern), "in", field("source", $._expr)),
    loop: ($) =>
      seq("loop", $._pattern_commas, $._eq, $._open_init, $._entries, $._close,
        choice(seq("while", $._expr), seq($._loop_for, choice(seq(choice($.identifier, "_"), "<", $._expr), $.elements))), "do", $._block),

    _postfix: ($) => choice($.field_access, $.index, $._atom),
    // Also `x.T`, the transpose, and `M.C`, a constructor of a module.
    field_access: ($) => prec.left(15, seq(field("of", $._postfix), ".", field("field", choice($.identifier, $.constructor)))),
    index: ($) => prec.left(15, seq($._postfix, $._index_open, commas($._index_argument), "]")),
    _index_argument: ($) => choice($._expr, $.slice),
    // Between brackets `::` is two colons.
    slice: ($) =>
      choice(seq(optional($._expr), ":", optional($._expr), optional(seq(":", $._expr))), prec.right(8, seq(optional($._expr), "::", $._expr))),
    _atom: ($) =>
      choice($.identifier, $.constructor, $.integer, $.float, $.boolean, $.string, $.interpolated_string, $.unit, $.section,
        $.parenthesised, $.tuple, $.annotation, $.sequence, $.array, $.record, $.update, $.iverson),
    boolean: () => choice("true", "false"),
    unit: () => seq("(", ")"),
    section: () => seq("(", choice(...BINARY.flatMap(([, , ops]) => ops)), ")"),
    parenthesised: ($) => seq("(", $._expr, ")"),
    annotation: ($) => seq("(", $._annotated, ")"),
    _annotated: ($) => seq($._expr, ":", $.signature),
    tuple: ($) => seq("(", $._tuple_part, ",", sep($._tuple_part, ","), optional(","), ")"),
    _tuple_part: ($) => choice($._expr, $._annotated),
    sequence: ($) => seq("(", $._expr, repeat1(seq(";", $._expr)), optional(";"), ")"),
    array: ($) => seq($._array_open, commas($._expr), "]"),
    iverson: ($) => seq("[|", $._expr, "|]"),
    record: ($) => seq("{", commas($.record_field), "}"),
    record_field: ($) => seq(field("name", $.identifier), optional(seq("=", $._expr))),
    update: ($) => seq("{", $._expr, "with", commas($.change), "}"),
    change: ($) => choice(seq($._place, "=", $._expr), $.identifier),
    _place: ($) => prec.left(seq(choice($.identifier, $.place_index), repeat(choice(seq(".", $.identifier), seq($._index_open, commas($._index_argument), "]"))))),
    place_index: ($) => seq($._array_open, commas($._index_argument), "]"),

    // Patterns.
    _pattern_commas: ($) => choice($._pattern, alias($.comma_pattern, $.tuple_pattern)),
    comma_pattern: ($) => seq($._pattern, repeat1(seq(",", $._pattern))),
    _pattern: ($) => choice($.alternatives, $.as_pattern, $._cons_pattern),
    alternatives: ($) => prec.left(1, seq($._pattern, $._or_bar, $._pattern)),
    as_pattern: ($) => prec.left(2, seq($._pattern, "as", $.identifier)),
    _cons_pattern: ($) => choice($.cons_pattern, $._applied_pattern),
    cons_pattern: ($) => prec.right(3, seq($._applied_pattern, "::", $._cons_pattern)),
    _applied_pattern: ($) => choice($.constructor_pattern, $._pattern_atom),
    constructor_pattern: ($) => prec(4, seq($._constructor_name, repeat1(choice($._pattern_atom)))),
    _constructor_name: ($) => choice($.constructor, $.qualified_name),
    qualified_name: ($) => seq($.constructor, ".", $.constructor),
    _pattern_atom: ($) =>
      choice($.identifier, "_", $.integer, $.float, $.negative, $.boolean, $.string, $._constructor_name, $.unit, $.pattern_group,
        $.tuple_pattern, $.array_pattern, $.record_pattern),
    negative: ($) => seq("-", choice($.integer, $.float)),
    pattern_group: ($) => seq("(", $._annotated_pattern, ")"),
    tuple_pattern: ($) => seq("(", $._annotated_pattern, ",", sep($._annotated_pattern, ","), optional(","), ")"),
    _annotated_pattern: ($) => seq($._pattern, optional(seq(":", $._type))),
    array_pattern: ($) => seq(choice($._array_open, $._index_open), commas($._pattern), "]"),
    record_pattern: ($) => seq("{", optional(seq(sep($.field_pattern, ","), optional(","))), optional(".."), "}"),
    field_pattern: ($) => seq(field("name", $.identifier), optional(seq("=", $._pattern))),

    // Types.
    signature: ($) => seq(optional(seq($._constraints, "=>")), $._type),
    // Several constraints have the form of a tuple.
    _constraints: ($) => choice($._applied_type, $.constraint),
    constraint: ($) =>
      choice(seq($._applied_type, choice(...BINARY.flatMap(([, , ops]) => ops)), $._applied_type, ":", $._applied_type),
        prec(-1, seq($.identifier, repeat1($._type_atom), ":", $._applied_type))),
    _type: ($) => choice($.function_type, $._applied_type),
    function_type: ($) => prec.right(seq($._applied_type, choice("->", "-o"), $._type)),
    _applied_type: ($) => choice($.type_application, $.array_type, $._type_atom),
    type_application: ($) => prec(1, seq($._constructor_name, repeat1($._type_atom))),
    array_type: ($) => prec.right(2, seq(choice($._array_open, $._index_open), optional($._size), "]", $._applied_type)),
    _size: ($) => choice($.integer, $.identifier, "_"),
    _type_atom: ($) => choice($.type_variable, $._constructor_name, "_", $.unit, $.type_group, $.tuple_type, $.record_type, alias($.array_atom, $.array_type)),
    array_atom: ($) => prec.right(3, seq(choice($._array_open, $._index_open), optional($._size), "]", $._type_atom)),
    type_group: ($) => seq("(", $._type_or_constraint, ")"),
    tuple_type: ($) => seq("(", $._type_or_constraint, ",", sep($._type_or_constraint, ","), optional(","), ")"),
    _type_or_constraint: ($) => choice($._type, $.constraint),
    record_type: ($) => seq("{", commas($.field_type), optional(choice(seq("|", $.type_variable), "..")), "}"),
    field_type: ($) => seq(field("name", $.identifier), ":", $._type),
    type_variable: ($) => $.identifier,

    // Leaves.
    identifier: () => NAME,
    constructor: () => UPPER,
    integer: () => token(choice(/[0-9][0-9_]*/, /0[xX][0-9a-fA-F][0-9a-fA-F_]*/, /0[oO][0-7][0-7_]*/, /0[bB][01][01_]*/)),
    float: () => token(choice(/[0-9][0-9_]*\.[0-9_]*([eE][+-]?[0-9][0-9_]*)?(f32)?/, /[0-9][0-9_]*[eE][+-]?[0-9][0-9_]*(f32)?/, /[0-9][0-9_]*f32/)),
    string: ($) => seq('"', repeat(choice($.escape, $._text)), token.immediate('"')),
    interpolated_string: ($) => seq('f"', repeat(choice($.escape, $.interpolation, $._interpolated_text)), token.immediate('"')),
    interpolation: ($) => seq("{", $._expr, "}"),
    escape: () => token.immediate(ESCAPE),
    documentation: () => token(prec(1, /--\|[^\n]*/)),
    comment: () => token(/--([^|\n][^\n]*)?/),
    block_comment: () => token(prec(1, seq("(*", /([^*]|\*+[^*)])*/, /\*+\)/))),
  },
});
