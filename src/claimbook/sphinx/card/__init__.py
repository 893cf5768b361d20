"""The card of a claim: its form when a page is read, what its runs add when it is written."""
