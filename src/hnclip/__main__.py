"""`python -m hnclip` is the command `hnclip`."""

from hnclip.cli.app import main

main()
