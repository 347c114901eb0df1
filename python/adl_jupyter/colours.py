"""Colours for Pygments, and so for nbconvert, Sphinx and IPython. The tokens are those of adl's own lexer."""

from pygments.lexer import Lexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text, Whitespace

KINDS = {
    "keyword": Keyword,
    "name": Name,
    "constructor": Name.Class,
    "type": Keyword.Type,
    "number": Number,
    "string": String,
    "doc": Comment.Special,
    "comment": Comment,
    "operator": Operator,
    "bracket": Punctuation,
    "command": Name.Builtin.Pseudo,
}


class AdlLexer(Lexer):
    """The language adl."""

    # Pygments calls another language `adl`: the Archetype Definition Language. Its files have the same ending.
    name = "adlang"
    aliases = ["adlang"]
    filenames = ["*.adl"]
    mimetypes = ["text/x-adl"]
    priority = 0.5

    def get_tokens_unprocessed(self, text):
        from adl._adl import classes

        at = 0
        for start, end, kind in [*classes(text), (len(text), len(text), "name")]:
            if at < start:
                between = text[at:start]
                yield at, Whitespace if between.isspace() else Text, between
            if start < end:
                yield start, KINDS[kind], text[start:end]
            at = end
