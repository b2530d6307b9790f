"""What people read: documents in the formats they paste, plots, progress. Knows no result and no arithmetic."""
