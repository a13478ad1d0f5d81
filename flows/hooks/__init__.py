"""Hooks that run after stages and runs, one module per hook (docs/plugs.md describes the interface)."""
