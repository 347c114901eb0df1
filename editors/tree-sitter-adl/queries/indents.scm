[
  (binding)
  (conditional)
  (function)
  (comprehension)
  (loop)
  (arm)
  (record)
  (array)
  (tuple)
  (parenthesised)
] @indent.begin

[")" "]" "}"] @indent.branch @indent.end
"else" @indent.branch
[(comment) (block_comment)] @indent.ignore
