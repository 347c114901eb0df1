//! The Jupyter kernel.
