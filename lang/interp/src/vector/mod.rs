//! An empty module.
