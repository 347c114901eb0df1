; Names that are not more.
(identifier) @variable
(constructor) @constructor

; Definitions and calls.
(binding name: (identifier) @function)
(binding pattern: (identifier) @variable)
(application function: (identifier) @function.call)
(application function: (field_access field: (identifier) @function.call))
(field_access field: (identifier) @variable.member)
(record_field name: (identifier) @variable.member)
(field_pattern name: (identifier) @variable.member)
(field_type name: (identifier) @variable.member)
(index_variable (identifier) @variable.parameter)
(elements pattern: (identifier) @variable.parameter)

; Types.
(type_declaration name: (constructor) @type.definition)
(constructor_declaration name: (constructor) @constructor)
(type_application (constructor) @type)
(signature (constructor) @type)
(array_type (constructor) @type)
(function_type (constructor) @type)
(tuple_type (constructor) @type)
(field_type (constructor) @type)
(pattern_group (constructor) @type)
(type_variable) @type
(import (constructor) @module)

; Leaves.
(integer) @number
(float) @number.float
(boolean) @boolean
(string) @string
(interpolated_string) @string
(escape) @string.escape
(interpolation ["{" "}"] @punctuation.special)
(comment) @comment
(block_comment) @comment
(documentation) @comment.documentation
(shebang) @keyword.directive

["let" "and" "in" "rec" "type" "alias" "as" "test" "bench"] @keyword
["fun" "lin"] @keyword.function
["if" "then" "else" "match" "with" "when"] @keyword.conditional
["for" "loop" "while" "do"] @keyword.repeat
"import" @keyword.import

["+" "-" "*" "/" "//" "%" "@" "^" "<|" "|>" ">>" "||" "&&" "==" "!=" "<" ">" "<=" ">=" "::" "++" ".||" ".&&" ".==" ".!=" ".<" ".>" ".<=" ".>="
 "->" "-o" "=>" "="] @operator
["(" ")" "]" "{" "}" "[|" "|]"] @punctuation.bracket
["," ";" ":" "."] @punctuation.delimiter
