"""The command line: `python -m attentive`, or the script `attentive`."""

import signal
import sys

from . import _attentive


def main() -> None:
    """Runs the command line of this process."""
    # The program handles Ctrl-C itself, and closed pipes too.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_attentive.main(["attentive", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
