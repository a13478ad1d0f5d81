"""A module a kind of input: whom it is thrown at, and how more of it is made."""
