" Colours until the language server answers; it refines them.
if exists("b:current_syntax")
  finish
endif

syntax keyword adlControl if then else match with when for loop while do
syntax keyword adlKeyword let rec and in as fun lin type import
syntax keyword adlBoolean true false
syntax match adlKeyword "^\(test\|bench\)\ze\s\+\""
syntax match adlKeyword "\(\<type\s\+\)\@<=alias\>"
syntax match adlType "\<\u[[:alnum:]_']*"
syntax match adlNumber "\<\(0[xX][0-9a-fA-F_]\+\|0[oO][0-7_]\+\|0[bB][01_]\+\|\d[0-9_]*\(\.\d[0-9_]*\)\?\([eE][+-]\?\d\+\)\?\(f32\)\?\)"
syntax match adlOperator "[-+*/%@^<>=|&:.!]\+"
syntax match adlEscape contained "\\\([ntr0e\\\"'{}]\|x\x\{2}\|u{\x\{1,6}}\)"
syntax region adlString start=+"+ skip=+\\\\\|\\"+ end=+"+ contains=adlEscape
syntax region adlInterpolated start=+\<f"+ skip=+\\\\\|\\"+ end=+"+ contains=adlEscape,adlInside
syntax region adlInside contained matchgroup=adlEscape start=+{+ end=+}+ contains=TOP
syntax match adlComment "--.*$"
syntax match adlDocumentation "--|.*$"
syntax region adlComment start="(\*)\@!" end="\*)" contains=adlComment

highlight default link adlControl Conditional
highlight default link adlKeyword Keyword
highlight default link adlBoolean Boolean
highlight default link adlType Type
highlight default link adlNumber Number
highlight default link adlOperator Operator
highlight default link adlEscape SpecialChar
highlight default link adlString String
highlight default link adlInterpolated String
highlight default link adlComment Comment
highlight default link adlDocumentation SpecialComment
" What only the server knows.
highlight default link @lsp.mod.linear.adl Special
highlight default link @lsp.mod.size.adl Number

let b:current_syntax = "adl"
