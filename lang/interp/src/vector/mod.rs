//! Elementwise lambdas as strip programs over whole arrays.
