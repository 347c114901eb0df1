(function) @local.scope
(linear_function) @local.scope
(binding) @local.scope
(arm) @local.scope
(comprehension) @local.scope
(loop) @local.scope

(binding name: (identifier) @local.definition.function)
(binding pattern: (identifier) @local.definition.var)
(binding (identifier) @local.definition.parameter)
(function (identifier) @local.definition.parameter)
(linear_function (identifier) @local.definition.parameter)
(index_variable (identifier) @local.definition.var)
(elements pattern: (identifier) @local.definition.var)
(identifier) @local.reference
