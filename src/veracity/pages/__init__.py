"""Pages for people, each one HTML file that asks for nothing else.

Knows what a receipt holds; knows nothing about ledgers, engines or servers.
"""

from veracity.pages.receipt import receipt_page

__all__ = ["receipt_page"]
