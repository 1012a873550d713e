"""What a study takes before it takes it: cells, disk, GPU-hours and peak memory, counted. No torch."""
