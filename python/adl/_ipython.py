"""`%load_ext adl`: cells of adl in IPython."""

from ._module import source


def load_ipython_extension(shell):
    """Defines `%%adl` (a cell of adl, whose definitions become names of Python), `%adl` (one expression), `%adl_residuals`."""
    session = source("", "<notebook>")

    def cell(line, text=None):
        from IPython.display import display

        echoes = session._run(line if text is None else text)
        last = None
        for name, _, value in echoes:
            if name is None:
                last = value
            else:
                shell.user_ns[name] = session[name] if callable(value) else value
        for name in session:
            if name[0].isupper():
                shell.user_ns[name] = session[name]
        if text is None:
            return last
        if last is not None:
            display(last)
        return None

    def residuals(line):
        """What the gradient of a function stores: `%adl_residuals f x`, with arguments that are names or expressions."""
        from . import _residuals

        words = _residuals.words(line)
        if not words:
            raise TypeError("expected a function and its arguments, found nothing: `%adl_residuals f x`")
        return _residuals.Residuals(*map(shell.ev, words))

    shell.register_magic_function(cell, "line_cell", "adl")
    shell.register_magic_function(residuals, "line", "adl_residuals")
