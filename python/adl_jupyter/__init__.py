"""What Python tools need to know of adl: parameters of notebooks, for papermill."""

from .parameters import Translator

__all__ = ["AdlEngine", "Translator"]


def __getattr__(name):
    """The engine of papermill for adl, which is papermill's own. Importing it makes the translator known.

    It is made on demand: papermill loads its engines while it is itself being imported.
    """
    if name != "AdlEngine":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from papermill.engines import NBClientEngine
    from papermill.translators import papermill_translators

    papermill_translators.register("adl", Translator)
    return NBClientEngine
