"""Tells before any training whether captions, with their images or alone, are the kind that a boosted loss is for."""
