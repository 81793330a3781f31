"""The built-in metrics, one file each. They are found the way a user's own are: by class name."""
