"""Exceptions and warnings."""


class Error(Exception):
    """An error of adl: of the types of a text or a call, or of a run.

    `code` is stable (`E0203`), `message` is its first line, `span` is the place as (file, line, column) or None,
    and `hint` says what to do, or is None. `str` of it is the whole message, as on the command line.
    """

    def __init__(self, text, code="E0901", message=None, span=None, hint=None):
        super().__init__(text)
        self.code = code
        self.message = text if message is None else message
        self.span = span
        self.hint = hint

    def __reduce__(self):
        return (Error, (self.args[0], self.code, self.message, self.span, self.hint))


class Warning(UserWarning):
    """A warning of adl about a text."""


class CopyWarning(UserWarning):
    """A large array is copied, because adl needs another dtype or its elements in one piece."""
