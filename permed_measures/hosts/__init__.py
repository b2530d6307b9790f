"""The frameworks this package plugs into, one file each."""
