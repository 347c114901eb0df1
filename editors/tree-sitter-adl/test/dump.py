"""Prints what tree-sitter makes of files, for the test `tree_sitter` of the language server.

    dump.py PARSER.so QUERIES FILES...

For each file one line of JSON: the number of errors, and the kinds of nodes with a place in each. Queries that do not
fit the grammar end the program.
"""

import ctypes
import json
import pathlib
import sys
import warnings

import tree_sitter

# What is compared: the kind of a node, and the child at whose place it counts.
KINDS = {
    "application": None, "conditional": None, "match": None, "function": None, "linear_function": None,
    "comprehension": None, "loop": None, "index": None, "array": None, "record": None, "update": None, "tuple": None,
    "binary": "operator", "field_access": "field", "binding": None, "type_declaration": "name", "test": None, "bench": None,
    "import": None, "arm": None,
}


def nodes(root):
    todo = [root]
    while todo:
        node = todo.pop()
        yield node
        todo.extend(node.children)


def compared(node):
    if not node.is_named or node.type not in KINDS:
        return False
    if node.type == "field_access":
        # `M.C` is a constructor of a module.
        parts = [node.child_by_field_name(name).type for name in ("of", "field")]
        return parts != ["constructor", "constructor"]
    return True


def place(node):
    at = KINDS[node.type]
    child = node.child_by_field_name(at) if at else None
    if node.type == "arm":
        # The sign `|` is no part of the pattern.
        child = node.children[0]
    return (child or node).start_byte


def main(library, queries, *files):
    library = ctypes.CDLL(library)
    library.tree_sitter_adl.restype = ctypes.c_void_p
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        language = tree_sitter.Language(library.tree_sitter_adl())
    for query in sorted(pathlib.Path(queries).glob("*.scm")):
        try:
            tree_sitter.Query(language, query.read_text())
        except Exception as e:
            sys.exit(f"{query}: {e}")
    parser = tree_sitter.Parser(language)
    for file in files:
        root = parser.parse(pathlib.Path(file).read_bytes()).root_node
        all_nodes = list(nodes(root))
        errors = sum(n.is_error or n.is_missing for n in all_nodes)
        found = sorted([n.type, place(n)] for n in all_nodes if compared(n))
        print(json.dumps({"file": file, "errors": errors, "nodes": found}))


main(*sys.argv[1:])
