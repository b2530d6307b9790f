"""Every measure against implementations we did not write."""
