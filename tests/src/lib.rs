//! The test-suite: programs with expected output, gradient checks, fuzz targets.
