"""Set up a child process to which a test sends signals."""

import signal


def hear_signals() -> None:
    """Reset signal handling, as a `preexec_fn`, since child processes of background scripts ignore SIGINT."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
