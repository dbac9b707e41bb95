//! Holds no code: the tests of the whole are the files under `tests/`.
