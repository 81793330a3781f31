"""Does the writer that needs no model answer when it can, abstain when it cannot, and cite what it says?"""
