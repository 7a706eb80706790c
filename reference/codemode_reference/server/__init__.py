"""An MCP server over the parent: each operation a tool, or one tool that runs programs."""
