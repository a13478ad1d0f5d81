"""Hooks that run after stages and runs, one module each (docs/plugs.md describes the interface)."""
