"""Generated documents: the catalogue, a call's states and the rooms of this house, as Markdown."""
