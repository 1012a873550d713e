"""The command `hnclip`: one file a command. They load what they need when they run, so that `--help` is quick."""
