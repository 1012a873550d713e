"""A study for a person's own data, written by `hnclip init`."""
