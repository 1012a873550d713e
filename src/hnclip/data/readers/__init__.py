"""One module a format of folders and shards; each gives the same `Table` as a file of captions does."""
