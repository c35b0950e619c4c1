"""./dev test: runs the layers of the tests and says what became of them."""
