"""The server role: any MCP server with an execute tool, driven by its target file alone."""
