"""Engines that run the work of stages: local processes, and shards on clusters."""
