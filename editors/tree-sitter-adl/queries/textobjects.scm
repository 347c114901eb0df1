(definition) @function.outer
(binding value: (_) @function.inner)
(function (_) @parameter.inner "->")
(application argument: (_) @parameter.inner)
(conditional) @conditional.outer
(match) @conditional.outer
(arm) @conditional.inner
(loop) @loop.outer
(comprehension) @loop.outer
(declaration) @class.outer
(comment) @comment.outer
(block_comment) @comment.outer
