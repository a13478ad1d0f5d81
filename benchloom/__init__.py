"""What is installed: the launcher, and the tree that projects are made from.

`flows` and `tasks` are never installed: they are a project's own code, and the launcher imports those of
the project that it is called in.
"""
