"""The workspace as tools for agents, over the Model Context Protocol: `veracity mcp`, and /mcp of `veracity serve`.

Only `protocol`, `stdio` and the first request to /mcp load the SDK, which is an optional dependency.
"""
