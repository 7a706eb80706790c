"""The pages of the book that are rendered from the specification's data when it is built."""
