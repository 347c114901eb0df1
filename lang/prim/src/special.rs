//! Special functions that `libm` lacks.
