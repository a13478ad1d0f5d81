"""What a process needs that a test sends signals to."""

import signal


def hear_signals() -> None:
    """Handle signals as at a terminal, as a `preexec_fn`: what a background script starts ignores SIGINT."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
