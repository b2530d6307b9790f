"""What people read of a Comparison. Nothing is computed here but places on paper."""
