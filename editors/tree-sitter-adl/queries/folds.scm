[
  (definition)
  (local_definition)
  (declaration)
  (match)
  (conditional)
  (loop)
  (comprehension)
  (record)
  (array)
  (tuple)
  (block_comment)
] @fold
