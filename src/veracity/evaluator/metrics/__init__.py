"""The built-in metrics, one file each, discovered by class name like a user's own."""
