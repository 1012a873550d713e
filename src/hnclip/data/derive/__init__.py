"""Computed once a data set and never in the training loop: regions, crops, edge maps, sentences, filtered captions."""
