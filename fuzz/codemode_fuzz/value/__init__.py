"""Host values and their sizes: what a text builds, what must hold, how texts are made."""
