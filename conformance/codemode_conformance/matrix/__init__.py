"""Several reports side by side: read, joined, shown as JSON, as pages and as badges."""
