"""How the bundled models are made: data, training and export. See README.md; not part of the installed package."""
